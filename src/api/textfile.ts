import { accessSync, chmodSync, constants, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from '../core/errors.ts';
import { NODE_FILES, refuseNoParent, writeWhole } from '../export/export-files.ts';
import type { Measurements } from '../metrics/measurements.ts';
import { OptionError } from '../settings/option-error.ts';
import type { OptionsNamed } from '../settings/options.ts';

/** Writes the metrics of a mirror. `measure` reads what takes a while. @returns why that failed; else null */
export type WriteTextfile = (db: string, measure: () => Promise<Measurements>) => Promise<string | null>;

/** How metrics are written for node_exporter, if at all. @throws SyncError `usage` if the file can never be written */
export function textfileWriter({ textfile }: OptionsNamed<'textfile'>): WriteTextfile {
  if (textfile === undefined) return async () => null;
  const path = resolve(textfile);
  refuseUnwritable(path);
  return async (db, measure) => {
    try {
      // Loaded only here: most runs write no metrics.
      const { mirrorMetrics } = await import('./mirror-metrics.ts');
      replaceFile(path, await mirrorMetrics(db, measure).text());
      return null;
    } catch (error) {
      return `${path} was not written: check it and its folder (${errorCode(error) || String(error)})`;
    }
  };
}

function refuseUnwritable(path: string): void {
  if (!path.endsWith('.prom'))
    throw new OptionError('textfile', `${path} does not end in .prom, and node_exporter reads only files that do`);
  refuseNoParent(path, 'file', 'textfile');
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new OptionError('textfile', `${path} is a folder: name a file with --textfile`);
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch (cause) {
    throw new OptionError(
      'textfile',
      `${dirname(path)} cannot be written: change its permissions, or name another file with --textfile`,
      { cause },
    );
  }
}

/** At once, so node_exporter never reads half a file; its user may read it whatever the umask. */
function replaceFile(path: string, text: string): void {
  // node_exporter ignores names that do not end in `.prom`.
  const beside = join(dirname(path), `.${basename(path)}.${process.pid}`);
  try {
    writeWhole(beside, Buffer.from(text), NODE_FILES);
    chmodSync(beside, 0o644);
    NODE_FILES.rename(beside, path);
  } finally {
    NODE_FILES.remove(beside);
  }
}
