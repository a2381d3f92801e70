import { makeReport, type PageReport, writeReport } from '../api/report.ts';
import { counted } from '../core/counted.ts';
import { usageError } from '../core/errors.ts';
import { type CommandAction, type CommandArguments, type CommandIo, isQuiet, STDIO } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { print, printingCommand } from './print.ts';

export const reportCommand: CommandAction = (args, io) => (args['to'] === STDIO ? printPage : writePage)(args, io);

const exitCode = ({ passed }: PageReport): number => (passed ? 0 : 1);

const writePage = printingCommand((args) => writeReport(libraryOptions(args)), renderWritten, exitCode);

/** For a pipe, such as into a mail: stdout has the page alone. */
async function printPage(args: CommandArguments, io: CommandIo): Promise<number> {
  if (args['json'] === true)
    throw usageError('--json and --to - both write to stdout: name a file with --to, or leave out --json');
  const { html, report } = await makeReport(libraryOptions(args));
  await print([html.toString()], io.stdout);
  if (!report.passed || !isQuiet(args)) io.stderr.write(renderWritten({ ...report, to: 'the report' }));
  return exitCode(report);
}

function renderWritten({ to, complete_at, environments, bytes, failing_count, passed }: PageReport): string {
  const asOf = complete_at === null ? 'not read to the end yet' : `as of ${complete_at}`;
  const verdict = passed ? '' : ', more than --max-failing allows';
  return `${to}: ${Math.ceil(bytes / 1000)} KB, ${counted(environments.length, 'environment')} ${asOf}\n${counted(failing_count, 'failing test')}${verdict}\n`;
}
