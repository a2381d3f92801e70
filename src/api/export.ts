import { EXPORT_FORMATS, type ExportFormat } from '../export/formats.ts';
import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { DEFAULTS } from '../settings/defaults.ts';
import { inRange, OptionError, oneOf } from '../settings/option-error.ts';
import type { MirrorOptions } from '../settings/options.ts';
import type { ExportEvent, ExportReport, ExportSettings } from './export-mirror.ts';
import { startRunThread } from './thread/in-thread.ts';

export interface ExportOptions extends MirrorOptions {
  /** The folder of the export. It is made if it does not exist. */
  readonly to: string;
  /** `parquet` (by default), `csv`, `ndjson` or `delta`. */
  readonly format?: ExportFormat | undefined;
  /** Only these tables and views; all mirrored tables by default. */
  readonly table?: readonly string[] | undefined;
  /** Also all views. */
  readonly views?: boolean | undefined;
  /** Only these environments, by id or name; all by default. */
  readonly env?: readonly string[] | undefined;
  /** Number of earlier exports whose files are kept, for readers that still go by their manifests; 1 by default. */
  readonly keep?: number | undefined;
  /** Stops the export when aborted; the export before it stays. */
  readonly signal?: AbortSignal | undefined;
  /** Receives an event for each table that is written. */
  readonly onProgress?: ((event: ExportEvent) => void) | undefined;
}

/**
 * Writes the tables of the mirror, as of one instant, as files into a folder; of an earlier export there, only what has changed.
 * It works in a separate thread. @throws SyncError
 */
export async function exportMirror(options: ExportOptions): Promise<ExportReport> {
  const settings = exportSettings(options);
  const thread = startRunThread();
  try {
    return await thread.export(settings, {
      signal: options.signal ?? new AbortController().signal,
      onProgress: options.onProgress ?? (() => {}),
    });
  } finally {
    await thread.close();
  }
}

function exportSettings(options: ExportOptions): ExportSettings {
  checkOptions(options);
  if (typeof options.to !== 'string' || options.to === '')
    throw new OptionError('to', 'no folder to export to: name one with --to');
  return {
    db: givenAddress(options),
    to: options.to,
    format: oneOf('format', options.format ?? DEFAULTS.format, EXPORT_FORMATS),
    tables: options.table ?? [],
    views: options.views ?? DEFAULTS.views,
    environments: options.env ?? [],
    keep: inRange('keep', options.keep ?? DEFAULTS.keep, { min: 0, max: 1000 }),
  };
}
