import type { Arguments } from 'yargs';
import type { Depth } from '../core/difference.ts';
import { SyncError } from '../core/errors.ts';
import type { VerifyReport } from '../sync/verify/verify-report.ts';
import type { Io, RunCommand } from './command.ts';
import { exitCodeOf, exitCodeOfSignal } from './exit-code.ts';
import { startRunThread } from './in-thread.ts';
import { stopOnSignals } from './signals.ts';
import { SYNC_DEFAULTS } from './sync-options.ts';
import { syncSettings } from './sync-settings.ts';
import { tellReport } from './tell-report.ts';
import { renderVerify, watchVerify } from './verify-view.ts';
import { tellFailure } from './wrapped.ts';

export const verify: RunCommand = async (args, io) => {
  const settings = syncSettings({ ...SYNC_DEFAULTS, ...args }, io.env);
  const depth = args['depth'] as Depth;
  refuseUnverified(args, depth);
  const stop = stopOnSignals();
  const view = await watchVerify(io, args['log-level'] as string);
  const thread = startRunThread();
  try {
    const wish = { ...settings, depth, repair: args['repair'] === true };
    const { onProgress, onSourceEvent, onFailure } = view;
    const report = await thread.verify(wish, { signal: stop.signal, onProgress, onSourceEvent, onFailure });
    view.end();
    show(report, args, io);
    return exitCodeOfReport(report, stop.received());
  } finally {
    view.end();
    await thread.close();
    stop.dispose();
  }
};

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

function show(report: VerifyReport, args: Arguments, io: Io): void {
  if (args['json'] === true || report.environments.length > 0) tellReport(report, args, io, renderVerify);
  if (report.error !== null) tellFailure(report.error);
}

function exitCodeOfReport({ equal, recovery }: VerifyReport, signal: NodeJS.Signals | null): number {
  if (recovery === 'signal' && signal !== null) return exitCodeOfSignal(signal);
  if (recovery !== null) return exitCodeOf(recovery);
  return equal === true ? 0 : 1;
}
