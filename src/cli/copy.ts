import { type CopyOptions, copy } from '../api/copy.ts';
import type { CopyReport } from '../destination/copy-mirror.ts';
import { type CommandAction, logSettings } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printReport } from './print-report.ts';
import { untilSignal } from './until-signal.ts';
import { counted } from './words.ts';

export const copyTo: CommandAction = async (args, io) => {
  const log = await io.log(logSettings(args));
  io.limitHeap();
  return untilSignal(args, io, 'a long write: nothing was copied', async (signal) => {
    const report = await copy({
      // The library validates the values.
      ...(libraryOptions(args) as unknown as CopyOptions),
      signal,
      onProgress: ({ table, rows }) => log.info(`${table}: ${counted(rows, 'row')} copied`),
    });
    printReport(report, args, io, renderCopy, true);
    return 0;
  });
};

function renderCopy({ db, to, rows, tables }: CopyReport): string {
  return `${to} is a copy of ${db}: ${counted(rows, 'row')} in ${counted(tables.length, 'table')}. The next sync into it continues where the original was.\n`;
}
