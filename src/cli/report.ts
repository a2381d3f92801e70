import { type PageReport, type ReportOptions, writeReport } from '../api/report.ts';
import type { CommandAction } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printReport } from './print-report.ts';
import { counted } from './words.ts';

export const report: CommandAction = async (args, io) => {
  // The library validates the values.
  const written = await writeReport(libraryOptions(args) as unknown as ReportOptions);
  printReport(written, args, io, renderWritten);
  return written.passed ? 0 : 1;
};

function renderWritten({ to, instant, environments, bytes, failing_count, passed }: PageReport): string {
  const verdict = passed ? '' : ', more than --max-failing allows';
  return `${to}: ${Math.ceil(bytes / 1000)} KB, ${counted(environments.length, 'environment')} as of ${instant}\n${counted(failing_count, 'failing test')}${verdict}\n`;
}
