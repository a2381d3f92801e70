import { type ExportOptions, exportMirror } from '../api/export.ts';
import { type CommandAction, logSettings } from './command.ts';
import { renderExport } from './export-view.ts';
import { libraryOptions } from './library-options.ts';
import { printReport } from './print-report.ts';
import { untilSignal } from './until-signal.ts';
import { counted } from './words.ts';

export const exportTo: CommandAction = async (args, io) => {
  const log = await io.log(logSettings(args));
  io.limitHeap();
  return untilSignal(args, io, 'a long read: the last complete export is unchanged', async ({ signal }) => {
    const report = await exportMirror({
      ...libraryOptions<ExportOptions>(args),
      signal,
      onProgress: ({ table, rows }) => log.info(`${table}: ${counted(rows, 'row')} exported`),
    });
    for (const warning of report.warnings) log.warn(warning);
    printReport(report, args, io, renderExport, report.warnings.length === 0);
    return 0;
  });
};
