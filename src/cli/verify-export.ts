import type { VerifyExportReport } from '../api/compare-export.ts';
import { type VerifyExportOptions, verifyExport } from '../api/verify-export.ts';
import { counted } from '../core/counted.ts';
import { usageError } from '../core/errors.ts';
import type { CommandArguments, CommandIo } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printingCommand } from './print.ts';
import { type StopRequest, untilSignal } from './signals.ts';

export const verifyExportCommand = untilSignal(
  'a long read: nothing was changed',
  printingCommand(compare, renderVerifyExport, ({ equal }) => (equal ? 0 : 1)),
);

async function compare(args: CommandArguments, io: CommandIo, { signal }: StopRequest): Promise<VerifyExportReport> {
  if (args['repair'] === true)
    throw usageError('--repair is for the mirror: to repair an export, run `obsync export` again');
  for (const name of ['env', 'stream'])
    if (args[name] !== undefined) throw usageError(`--${name} is for the mirror: --against compares the whole export`);
  io.limitHeap();
  return verifyExport({ ...libraryOptions<VerifyExportOptions>(args), signal });
}

const MEANINGS: Readonly<Record<VerifyExportReport['differences'][number]['what'], string>> = {
  missing: 'the mirror has rows that are not exported',
  extra: 'the mirror no longer has these rows',
  unequal: 'the mirror has other rows',
  damaged: 'the file is missing or unreadable, or was changed after it was written',
  unlogged: 'the Delta log does not have what was exported',
};

const AFTER_REFUSAL = 'An export refuses a log that is damaged or not writable: follow the advice on its line first.';

function renderVerifyExport(report: VerifyExportReport): string {
  const { against, instant, files, rows, differences } = report;
  const compared = `${against}, exported as of ${instant}: ${counted(rows, 'row')} in ${counted(files, 'file')} compared`;
  if (report.equal) return `${compared}. The export equals the mirror.\n`;
  const lines = differences.map(({ what, table, env_id, month, path, reason }) => {
    const partition = [table, `env_id=${env_id}`, ...(month === null ? [] : [`month=${month}`])].join(' ');
    return `  ${what}: ${path ?? partition}: ${reason ?? MEANINGS[what]}`;
  });
  const isRefused = differences.some(({ reason }) => reason !== null);
  const advice = isRefused ? AFTER_REFUSAL : 'Run `obsync export` again: it rewrites what has changed or is damaged.';
  return [`${compared}. ${counted(differences.length, 'difference')}:`, ...lines, advice, ''].join('\n');
}
