import { sync, syncAlone } from '../api/sync.ts';
import { closeAfter } from '../core/close-after.ts';
import type { RunSummary } from '../sync/summary.ts';
import { isQuiet } from './command.ts';
import { serviceOptions } from './library-options.ts';
import { printFailure, printReport } from './print.ts';
import { watchRun } from './progress-view.ts';
import { exitCodeAfter, LONG_WRITE, untilSignal } from './signals.ts';
import { hasSummaryTable, problems, renderSummary } from './summary-view.ts';

export const syncCommand = untilSignal(LONG_WRITE, async (args, io, { signal, received }) => {
  io.limitHeap();
  const options = { ...serviceOptions(args, io), signal };
  // A live view or a log could block this thread.
  const syncOnce = isQuiet(args) ? syncAlone : sync;
  const summary = await closeAfter(await watchRun(io, args), ({ onProgress }) => syncOnce({ ...options, onProgress }));
  const verbose = args['verbose'] === true;
  const render = (shown: RunSummary, width: number | null) => renderSummary(shown, width, verbose);
  if (args['json'] === true || (summary.run !== null && hasSummaryTable(summary)))
    printReport(summary, args, io, render, summary.status === 'done' && problems(summary).length === 0);
  if (summary.error !== null) await printFailure(summary.error, args, io);
  return exitCodeAfter(summary, received());
});
