import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { readChoice, readNumber, requireText } from '../settings/option-error.ts';
import { OPTIONS } from '../settings/option-table.ts';
import type { OptionsNamed, ProgressOptions } from '../settings/options.ts';
import type { ExportEvent, ExportReport } from './export-mirror.ts';
import { withRunThread } from './thread/in-thread.ts';

/** `onProgress` receives an event for each table. If the export is stopped, the previous one stays. */
export interface ExportOptions
  extends ProgressOptions<ExportEvent>,
    OptionsNamed<'db' | 'dbFile' | 'replica' | 'format' | 'table' | 'views' | 'env' | 'keep' | 'targetSize'> {
  /** The folder of the export, created if it does not exist, or `s3://BUCKET/PREFIX`. */
  readonly to: string;
}

/**
 * Writes the tables of the mirror, as of one instant, as files into a folder. If the folder has an earlier export, only
 * changes are written. Runs in a separate thread.
 * @throws SyncError
 */
export async function exportMirror(options: ExportOptions): Promise<ExportReport> {
  checkOptions(options);
  const settings = {
    to: requireText('to', options.to, 'no folder to export to: name one with --to'),
    db: givenAddress(options),
    replica: options.replica,
    format: readChoice('format', options.format ?? OPTIONS.format.default, OPTIONS.format.choices),
    tables: options.table ?? [],
    views: options.views ?? OPTIONS.views.default,
    environments: options.env ?? [],
    keep: readNumber('keep', options.keep),
    targetSize: readNumber('targetSize', options.targetSize),
  };
  return withRunThread((thread) => thread.run('export', settings, options));
}
