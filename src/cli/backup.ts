import { backup } from '../api/backup.ts';
import { counted } from '../core/counted.ts';
import type { BackupReport } from '../destination/sqlite/backup.ts';
import { OptionError } from '../settings/option-error.ts';
import { type CommandAction, STDIO } from './command.ts';
import { mirrorOptions } from './library-options.ts';
import { printReport } from './print-report.ts';
import { untilSignal } from './signals.ts';
import { sizeText } from './words.ts';

export const backupCommand: CommandAction = async (args, io) => {
  if (args['to'] === STDIO) throw new OptionError('to', 'a backup cannot be written to stdout: name a file');
  return untilSignal(args, io, 'a long write: an earlier backup stays as it was', async ({ signal }) => {
    printReport(
      await backup({ ...mirrorOptions(args), to: args['to'] as string, signal }),
      args,
      io,
      renderBackup,
      true,
    );
    return 0;
  });
};

function renderBackup({ db, to, bytes, rows, replaced }: BackupReport): string {
  const instead = replaced ? ', instead of an earlier one' : '';
  return `${to} is a backup of ${db}: ${counted(rows, 'row')}, ${sizeText(bytes)}${instead}.\n`;
}
