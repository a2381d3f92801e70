import type { Arguments } from 'yargs';
import { mirror as mirrorTable } from '../../schema/sync.ts';
import { claimMirror } from '../../state/run-log.ts';
import type { Depth } from '../core/difference.ts';
import { SyncError } from '../core/errors.ts';
import { fileError } from '../destination/sqlite/file-error.ts';
import { createHolding, noteApart } from '../destination/sqlite/holding.ts';
import { type MirrorFile, openForReading } from '../destination/sqlite/open.ts';
import type { OpenMirror } from '../sync/ports.ts';
import { repair, suspectsOf } from '../sync/verify/repair.ts';
import { reportOf } from '../sync/verify/report-of.ts';
import { type Verification, verify as verifyMirror } from '../sync/verify/verify.ts';
import type { VerifyReport } from '../sync/verify/verify-report.ts';
import type { Command, Io } from './command.ts';
import { exitCodeOf, exitCodeOfSignal } from './exit-code.ts';
import { OPTIONS, pick } from './options.ts';
import { clock, openLocked, openSource, type SyncSettings, syncSettings } from './session.ts';
import { stopOnSignals } from './signals.ts';
import { SYNC_DEFAULTS } from './sync.ts';
import { renderVerify, watchVerify } from './verify-view.ts';

const VERIFY_OPTIONS = {
  ...pick('base-url', 'db', 'token-file', 'env', 'stream', 'depth', 'repair', 'overlap', 'page-size', 'concurrency'),
  ...pick('retries', 'timeout', 'max-wait'),
  'max-requests': {
    ...OPTIONS['max-requests'],
    describe: 'requests after which it stops (exit 5), with what it has found and what it has not looked at',
  },
  ...pick('allow-http', 'log-level', 'json', 'config'),
} as const;

export const verify: Command = {
  name: 'verify',
  describe: 'whether the mirror equals the source now: what is missing, extra or unequal (exit 0 equal, 1 not)',
  options: VERIFY_OPTIONS,
  async run(args, io) {
    const settings = syncSettings({ ...SYNC_DEFAULTS, ...args }, io.env);
    const depth = args['depth'] as Depth;
    refuseUnverified(args, depth);
    const stop = stopOnSignals();
    try {
      const report = await verifyOnce({ ...settings, depth }, args, { io, signal: stop.signal });
      show(report, args, io);
      return exitCodeOfReport(report, stop.received());
    } finally {
      stop.dispose();
    }
  },
};

interface VerifySettings extends SyncSettings {
  readonly depth: Depth;
}

/** @throws SyncError `usage` for what no verification can look at */
function refuseUnverified(args: Arguments, depth: Depth): void {
  const names = (args['stream'] ?? []) as string[];
  if (names.includes('test_executions'))
    throw new SyncError(
      'usage',
      'test_executions is not verified: the mirror keeps every run it has ever seen, the source shows 90 days',
    );
  if (depth === 'count' && names.length > 0 && !names.some((name) => ['assets', 'table_assets'].includes(name)))
    throw new SyncError(
      'usage',
      '--depth count looks at tables alone: leave --stream out, or take --depth ids or rows',
    );
}

async function verifyOnce(
  settings: VerifySettings,
  args: Arguments,
  { io, signal }: { io: Io; signal: AbortSignal },
): Promise<VerifyReport> {
  const mirror = openVerified(settings);
  // From the start: nobody else may write between what is found and what is written.
  const locked = args['repair'] === true ? lock(mirror, settings, signal) : null;
  const view = watchVerify(io, args['log-level'] as string);
  const source = openSource(settings, { signal, onSourceEvent: view.onSourceEvent });
  const ports = {
    source,
    db: mirror.db,
    holding: (envId: string) => createHolding(mirror, envId),
    clock,
    signal,
    onProgress: view.onProgress,
  };
  try {
    const verification = await verifyMirror(ports, settings);
    const facts = () => ({ server_time: source.serverTime(), requests: source.requests() });
    const report = reportOf(verification, facts());
    if (locked === null || report.error !== null || !isRepairable(verification, report)) return report;
    const repaired = await repair({ source, mirror: locked, clock }, settings, verification);
    return reportOf(verification, facts(), repaired);
  } catch (error) {
    throw fileError(settings.db, error);
  } finally {
    view.end();
    await source.close();
    mirror.connection.close();
    locked?.close();
  }
}

function isRepairable({ examined }: Verification, { findings }: VerifyReport): boolean {
  return findings.length > 0 || examined.some((each) => suspectsOf(each).length > 0);
}

function lock(mirror: MirrorFile, { db }: SyncSettings, signal: AbortSignal): OpenMirror {
  try {
    return openLocked(db, signal);
  } catch (error) {
    mirror.connection.close();
    throw error;
  }
}

/** The mirror, open for reading; of this base URL and no other (R26). @throws SyncError `usage` */
function openVerified({ db, baseUrl }: SyncSettings): MirrorFile {
  const mirror = openForReading(db);
  try {
    if (mirror.db.select().from(mirrorTable).get() === undefined)
      throw new SyncError('usage', `${db} mirrors nothing yet: run \`obsync sync\` first`);
    claimMirror(mirror.db, baseUrl);
    noteApart(mirror);
    return mirror;
  } catch (error) {
    mirror.connection.close();
    throw error;
  }
}

function show(report: VerifyReport, args: Arguments, io: Io): void {
  const width = io.outIsTerminal ? (process.stdout.columns ?? null) : null;
  if (args['json'] === true) io.out(`${JSON.stringify(report, null, 2)}\n`);
  else if (report.environments.length > 0) io.out(renderVerify(report, width));
  if (report.error !== null) process.stderr.write(`obsync: ${report.error}\n`);
}

function exitCodeOfReport({ equal, recovery }: VerifyReport, signal: NodeJS.Signals | null): number {
  if (recovery === 'signal' && signal !== null) return exitCodeOfSignal(signal);
  if (recovery !== null) return exitCodeOf(recovery);
  return equal === true ? 0 : 1;
}
