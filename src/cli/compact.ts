import { compact as compactMirror } from '../api/compact.ts';
import type { CommandAction } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printReport } from './print-report.ts';
import { sizeText } from './words.ts';

export const compact: CommandAction = async (args, io) => {
  const report = await compactMirror(libraryOptions(args));
  printReport(
    report,
    args,
    io,
    ({ db, bytes_before, bytes_after }) => `${db}: ${sizeText(bytes_before)} before, ${sizeText(bytes_after)} now.\n`,
  );
  return 0;
};
