import { type BackupOptions, backup } from '../api/backup.ts';
import { counted } from '../core/counted.ts';
import type { BackupReport } from '../destination/sqlite/backup.ts';
import { OptionError } from '../settings/option-error.ts';
import { STDIO } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printingCommand } from './print.ts';
import { type StopRequest, untilSignal } from './signals.ts';
import { sizeText } from './words.ts';

export const backupCommand = untilSignal(
  'a long write: an earlier backup stays as it was',
  printingCommand((args, _io, { signal }: StopRequest) => {
    if (args['to'] === STDIO) throw new OptionError('to', 'a backup cannot be written to stdout: name a file');
    return backup({ ...libraryOptions<BackupOptions>(args), signal });
  }, renderBackup),
);

function renderBackup({ db, to, bytes, rows, replaced }: BackupReport): string {
  const instead = replaced ? ', instead of an earlier one' : '';
  return `${to} is a backup of ${db}: ${counted(rows, 'row')}, ${sizeText(bytes)}${instead}.\n`;
}
