import { SyncError } from '../core/errors.ts';
import { type ExportOptions, exportMirror } from '../library/export.ts';
import type { CommandAction } from './command.ts';
import { exitCodeOfSignal } from './exit-code.ts';
import { renderExport } from './export-view.ts';
import { libraryOptions } from './library-options.ts';
import { printFailure } from './print-failure.ts';
import { printReport } from './print-report.ts';
import { saveMemory } from './save-memory.ts';
import { stopOnSignals } from './signals.ts';

export const exportTo: CommandAction = async (args, io) => {
  const stop = stopOnSignals('a long read: the export before it is whole');
  const log = await io.log(args['log-level'] as string);
  saveMemory();
  try {
    const report = await exportMirror({
      // The library checks the values.
      ...(libraryOptions(args) as unknown as ExportOptions),
      signal: stop.signal,
      onProgress: ({ table, rows }) => log.info({ table, rows }, 'exported'),
    });
    printReport(report, args, io, renderExport);
    return 0;
  } catch (error) {
    const signal = stop.received();
    if (!(error instanceof SyncError) || error.recovery !== 'signal' || signal === null) throw error;
    printFailure(error.message);
    return exitCodeOfSignal(signal);
  } finally {
    stop.dispose();
  }
};
