import { belongsTo } from '../../state/run-log.ts';
import type { CompareDepth } from '../core/difference.ts';
import { SyncError } from '../core/errors.ts';
import type { Source } from '../core/source.ts';
import { fileError } from '../destination/sqlite/file-error.ts';
import { fileState, readState } from '../destination/sqlite/file-state.ts';
import { createMirrorReader, noteApart } from '../destination/sqlite/mirror-reader.ts';
import { type MirrorFile, openForReading } from '../destination/sqlite/open.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { OpenMirror } from '../sync/ports.ts';
import { repair } from '../verify/repair.ts';
import { repairable } from '../verify/repair-environment.ts';
import { reportOf } from '../verify/report.ts';
import { type VerifyProgress, type VerifyResult, verify } from '../verify/verify.ts';
import type { VerifyReport } from '../verify/verify-report.ts';
import { recordVerification } from './record-verification.ts';
import { openLocked, resumeSource } from './session.ts';
import { streamsAskedFor } from './streams-asked-for.ts';
import { clock, type RunWatcher, type SyncSettings } from './sync-settings.ts';

export interface VerifySettings extends SyncSettings {
  readonly depth: CompareDepth;
  /** What is found is written. */
  readonly repair: boolean;
}

/** Who watches a verification, and how it is stopped. */
export interface VerifyWatch extends Omit<RunWatcher, 'onProgress'> {
  onProgress(progress: VerifyProgress): void;
  /** Receives each failure that the report names in one line. */
  onFailure(error: Error): void;
}

/** One verification over HTTP of the mirror file, recorded in it where that is possible. @throws SyncError */
export async function verifyOnce(settings: VerifySettings, watch: VerifyWatch): Promise<VerifyReport> {
  const report = await verifyFile(settings, watch);
  recordVerification(settings, report);
  return report;
}

async function verifyFile(settings: VerifySettings, watch: VerifyWatch): Promise<VerifyReport> {
  const mirror = openVerified(settings);
  let locked: OpenMirror | null = null;
  let source: Source | null = null;
  try {
    // Before anything is read: nobody else may write between what is found and what is written.
    if (settings.repair) locked = openLocked(settings.db, watch.signal);
    source = resumeSource(settings, watch);
    return await verifyAndRepair(settings, watch, { mirror, locked, source });
  } catch (error) {
    throw fileError(settings.db, error);
  } finally {
    await source?.close();
    mirror.connection.close();
    await locked?.close();
  }
}

async function verifyAndRepair(
  settings: VerifySettings,
  { signal, onProgress, onFailure }: VerifyWatch,
  { mirror, locked, source }: { mirror: MirrorFile; locked: OpenMirror | null; source: Source },
): Promise<VerifyReport> {
  const options = { ...settings, catalogue: CATALOGUE, streams: streamsAskedFor(settings) };
  const reader = (envId: string) => createMirrorReader(mirror, envId);
  const state = fileState(mirror, clock);
  const verification = await verify({ source, state, reader, clock, signal, onProgress }, options);
  for (const error of failuresOf(verification)) onFailure(error);
  const facts = () => ({ server_time: source.serverTime(), requests: source.requests() });
  const report = reportOf(verification, facts());
  if (locked === null || report.error !== null || !isRepairable(verification, report)) return report;
  const repaired = await repair({ catalogue: CATALOGUE, source, mirror: locked, clock }, options, verification);
  if (repaired.error !== null) onFailure(repaired.error);
  return reportOf(verification, facts(), repaired);
}

function failuresOf({ error, verifications }: VerifyResult): Set<SyncError> {
  return new Set([error, ...verifications.map((each) => each.error)].filter((each) => each !== null));
}

function isRepairable({ verifications }: VerifyResult, { findings }: VerifyReport): boolean {
  return findings.length > 0 || verifications.some((each) => repairable(each).length > 0);
}

/** The mirror, open for reading; of this base URL and no other (R26). @throws SyncError `usage` */
function openVerified({ db, baseUrl }: SyncSettings): MirrorFile {
  const mirror = openForReading(db);
  try {
    if (!readState(mirror, belongsTo(baseUrl, mirror.path)))
      throw new SyncError('usage', `${db} mirrors nothing yet: run \`obsync sync\` first`);
    noteApart(mirror);
    return mirror;
  } catch (error) {
    mirror.connection.close();
    throw error;
  }
}
