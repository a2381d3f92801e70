import { loadEnvironments } from '../../state/environment-store.ts';
import { belongsTo } from '../../state/run-log.ts';
import { closeAfter } from '../core/close-after.ts';
import type { CompareDepth } from '../core/decide/difference.ts';
import { translateErrors } from '../core/errors.ts';
import type { OpenMirror } from '../core/ports/open-mirror.ts';
import type { SourceEvent } from '../core/ports/source.ts';
import type { MirrorStore } from '../destination/mirror-store.ts';
import { perform } from '../destination/sqlite/driver.ts';
import { createMirrorReader, createScratchTables } from '../destination/sqlite/mirror-reader.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { fileState } from '../destination/sqlite/open-state.ts';
import { clock, type SyncSettings, selectStreams, type WorkWatch } from '../settings/sync-settings.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import { repair } from '../verify/repair.ts';
import { repairable } from '../verify/repair-environment.ts';
import { reportOf } from '../verify/report.ts';
import { type VerifyProgress, verifyMirror } from '../verify/verify.ts';
import type { VerifyReport } from '../verify/verify-report.ts';
import { openStore } from './open-store.ts';
import { readMirror } from './read-mirror.ts';
import { resumeSource } from './session.ts';

export interface VerifySettings extends SyncSettings {
  readonly replica?: string | undefined;
  readonly depth: CompareDepth;
  /** Whether to write the findings to the mirror. */
  readonly repair: boolean;
  readonly mayRecord: boolean;
}

export type VerifyEvent =
  | SourceEvent
  | ({ readonly type: 'progress' } & VerifyProgress)
  /** An error that the report shortens to one line. */
  | { readonly type: 'failure'; readonly error: Error };

type VerifyWatch = WorkWatch<VerifyEvent>;

/** Verifies the mirror over HTTP, and records the result in it if possible. @throws SyncError */
export async function verifyOnce(settings: VerifySettings, watch: VerifyWatch): Promise<VerifyReport> {
  const store = await openStore(settings.db);
  const verified = verifyStore(store, settings, watch).then(async (report) => {
    await record(store, settings, report);
    return report;
  });
  return translateErrors(verified, store.explain);
}

/** Records the verification of a whole mirror for its readers, if the mirror can be written now. */
async function record(store: MirrorStore, settings: VerifySettings, report: VerifyReport): Promise<void> {
  const isWhole = settings.environments.length === 0 && settings.streamNames.length === 0;
  if (!isWhole || report.error !== null || report.equal === null || !settings.mayRecord) return;
  await store.record({
    ended_at: clock(),
    depth: report.depth,
    equal: Number(report.equal),
    difference_count: report.findings.filter(({ repaired }) => !repaired).length,
  });
}

async function verifyStore(store: MirrorStore, settings: VerifySettings, watch: VerifyWatch): Promise<VerifyReport> {
  // Locked before anything is read: nothing else may write between finding and repairing a difference.
  const locked = settings.repair ? await lockWholeMirror(store, watch.signal) : null;
  try {
    return await readMirror(store, (mirror) => verifyFile(mirror, settings, watch, { locked, store }), {
      replica: settings.replica,
      signal: watch.signal,
      // What it looks for may have changed without a commit of obsync.
      readsAll: true,
    });
  } finally {
    await locked?.close();
  }
}

async function lockWholeMirror(store: MirrorStore, stop: AbortSignal): Promise<OpenMirror> {
  // Refuses a missing mirror or one of another version before changing it.
  await store.read(loadEnvironments);
  const mirror = await store.open(stop);
  try {
    await mirror.hold((await mirror.state.environments()).map((row) => String(row['id'])));
    return mirror;
  } catch (error) {
    await mirror.close();
    throw error;
  }
}

/** @throws SyncError `usage` if the mirror belongs to another base URL (R26) */
async function verifyFile(
  mirror: MirrorFile,
  settings: VerifySettings,
  watch: VerifyWatch,
  { locked, store }: { locked: OpenMirror | null; store: MirrorStore },
): Promise<VerifyReport> {
  perform(mirror.prepare, belongsTo(settings.baseUrl, store.display));
  createScratchTables(mirror);
  const { signal, onProgress: emit } = watch;
  const options = { ...settings, limits: store.limits, catalogue: CATALOGUE, streams: selectStreams(settings) };
  const reader = (envId: string) => createMirrorReader(mirror, envId);
  const state = fileState(mirror, clock);
  const onProgress = (progress: VerifyProgress): void => emit({ type: 'progress', ...progress });
  return closeAfter(await resumeSource(settings, watch), async (source) => {
    const verification = await verifyMirror({ source, state, reader, clock, signal, onProgress }, options);
    const { error, verifications } = verification;
    for (const failure of new Set([error, ...verifications.map((each) => each.error)]))
      if (failure !== null) emit({ type: 'failure', error: failure });
    const facts = () => ({ server_time: source.times().serverTime, requests: source.requests() });
    const report = reportOf(verification, facts());
    if (locked === null || report.error !== null) return report;
    if (report.findings.length === 0 && !verifications.some((each) => repairable(each).length > 0)) return report;
    const ports = { catalogue: CATALOGUE, source, mirror: locked, clock, signal };
    const repaired = await repair(ports, options, verification);
    if (repaired.error !== null) emit({ type: 'failure', error: repaired.error });
    return reportOf(verification, facts(), repaired);
  });
}
