import { SyncError, translateErrors, usageError } from '../core/errors.ts';
import type { Instant } from '../core/time/instant.ts';
import { sqliteVersion } from '../destination/sqlite/migrations.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { bucketAddress } from '../export/bucket/bucket-address.ts';
import { withImage } from '../export/bucket/bucket-image.ts';
import { sumOfFiles } from '../export/build-manifest.ts';
import { unreadableError } from '../export/export-files.ts';
import { LAYOUT, readManifest } from '../export/manifest.ts';
import { environmentsOf } from '../export/mirror-scope.ts';
import { compareExport, type ExportDifference } from '../export/verify-export.ts';
import { openBucket } from './export-mirror.ts';
import { openStore } from './open-store.ts';
import { readMirror } from './read-mirror.ts';

export interface VerifyExportSettings {
  readonly db: string;
  readonly replica?: string | undefined;
  /** The folder of the export, or its address in object storage. */
  readonly against: string;
}

export interface VerifyExportReport {
  readonly equal: boolean;
  readonly against: string;
  /** The mirror's instant that was exported. */
  readonly instant: Instant;
  readonly files: number;
  readonly rows: number;
  readonly differences: readonly ExportDifference[];
}

/** Compares an export with the current mirror: all rows, and the bytes of all files. @throws SyncError */
export async function verifyExportOnce(
  { db, against, replica }: VerifyExportSettings,
  signal: AbortSignal,
  open = openBucket,
): Promise<VerifyExportReport> {
  const store = await openStore(db);
  const compareIn = (folder: string) =>
    readMirror(store, (mirror) => compareMirror(mirror, { against, folder, signal }), { replica, signal });
  const compare = async (): Promise<VerifyExportReport> => {
    const address = bucketAddress(against);
    if (address === null) return compareIn(against);
    // An export in object storage is read into a temporary folder.
    return withImage(await open(address, signal), 'whole', ({ path }) => compareIn(path));
  };
  return translateErrors(compare(), (error) => store.explain(unreadableError(against, error)));
}

async function compareMirror(
  { connection }: MirrorFile,
  { against, folder, signal }: { against: string; folder: string; signal: AbortSignal },
): Promise<VerifyExportReport> {
  const manifest = readManifest(folder);
  if (manifest === null) throw usageError(`${against} contains no export: create one with \`obsync export\``);
  connection.exec('begin');
  if (manifest.schema_version !== sqliteVersion(connection))
    throw new SyncError('run', `${against} was exported from an earlier version of the mirror: export again`);
  if (manifest.layout !== LAYOUT)
    throw new SyncError('run', `${against} was exported by an older obsync, with other files: export again`);
  const envIds = manifest.limited ? [] : environmentsOf(connection, []).map(({ env_id }) => env_id);
  const differences = await compareExport({ connection, folder, manifest, envIds, signal });
  const { instant, files } = manifest;
  const rows = sumOfFiles(files, 'rows');
  return { equal: differences.length === 0, against, instant, files: files.length, rows, differences };
}
