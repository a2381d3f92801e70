import { type BackupReport, backUp } from '../destination/sqlite/backup.ts';
import { addressOf, givenFile } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { OptionError } from '../settings/option-error.ts';
import type { MirrorOptions, StopOptions } from '../settings/options.ts';

export interface BackupOptions extends MirrorOptions, StopOptions {
  /** The file of the backup. An earlier backup there is replaced, unless this one is stopped. */
  readonly to: string;
}

/** Copies a mirror in a file into another file, as of one instant, while a sync may write. @throws SyncError */
export async function backup(options: BackupOptions): Promise<BackupReport> {
  checkOptions(options);
  const { to, signal = new AbortController().signal } = options;
  const path = givenFile(
    options,
    ({ display, schema }) =>
      `backup copies a mirror in a file, and ${display} is in PostgreSQL: run \`pg_dump --schema=${schema}\`, or \`obsync copy --to FILE\``,
  );
  const place = typeof to !== 'string' || to === '' ? null : addressOf(to);
  if (place?.kind !== 'file')
    throw new OptionError('to', 'a backup is a file: name one, such as `obsync backup backup.db`');
  return backUp(path, place.path, signal);
}
