import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { lockPath, type MirrorLock, takeLock } from '../../state/lock.ts';
import { SyncError, translateErrors, usageError } from '../core/errors.ts';
import type { Instant } from '../core/time/instant.ts';
import { sqliteVersion } from '../destination/sqlite/migrations.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { type BucketAddress, bucketAddress } from '../export/bucket/bucket-address.ts';
import { withImage } from '../export/bucket/bucket-image.ts';
import type { ObjectStore } from '../export/bucket/object-store.ts';
import { upload } from '../export/bucket/upload.ts';
import { sumOfFiles } from '../export/build-manifest.ts';
import { type ExportResult, exportTables } from '../export/export.ts';
import {
  type FileOperations,
  folderError,
  fullDisk,
  isDiskFull,
  NODE_FILES,
  refuseNoParent,
} from '../export/export-files.ts';
import { ExportFolder } from '../export/export-folder.ts';
import type { ExportScope } from '../export/export-work.ts';
import type { ExportFormat } from '../export/formats.ts';
import { type ExportedFile, MANIFEST_NAME, readManifest } from '../export/manifest.ts';
import { environmentsOf, exportInstant, newestRun, relationsOf } from '../export/mirror-scope.ts';
import type { WorkWatch } from '../settings/sync-settings.ts';
import { openStore } from './open-store.ts';
import { readMirror } from './read-mirror.ts';

export interface ExportSettings {
  readonly db: string;
  readonly replica?: string | undefined;
  readonly to: string;
  readonly format: ExportFormat;
  /** All mirrored tables if empty. */
  readonly tables: readonly string[];
  readonly views: boolean;
  /** All environments if empty. */
  readonly environments: readonly string[];
  readonly keep: number;
  /** The size of a full file, in MiB. */
  readonly targetSize: number;
}

export interface ExportEvent {
  readonly type: 'table';
  readonly table: string;
  readonly rows: number;
}

interface FileCounts {
  readonly rows: number;
  readonly files: number;
  readonly bytes: number;
  readonly files_written: number;
  readonly bytes_written: number;
}

export interface ExportReport extends FileCounts {
  readonly to: string;
  readonly format: ExportFormat;
  readonly instant: Instant;
  readonly files_removed: number;
  /** Tables that the previous export had and this one lacks. */
  readonly dropped_tables: readonly string[];
  readonly dropped_environments: readonly string[];
  /** Files of these tables and environments. They are removed like those of earlier exports. */
  readonly dropped_files: number;
  /** What happened to the folder besides, such as a Delta table that another program had changed. */
  readonly notes: readonly string[];
  /** Problems after the new export was complete, such as old files that could not be removed. */
  readonly warnings: readonly string[];
  readonly tables: readonly (FileCounts & { readonly table: string })[];
}

export async function exportOnce(
  settings: ExportSettings,
  watch: WorkWatch<ExportEvent>,
  { files = NODE_FILES, open = openBucket }: { files?: FileOperations; open?: typeof openBucket } = {},
): Promise<ExportReport> {
  const address = bucketAddress(settings.to);
  const store = await openStore(settings.db);
  const place = { to: settings.to, folder: settings.to, location: null, nonce: null, files };
  const read = async (mirror: MirrorFile): Promise<ExportReport> => {
    const work = { mirror, settings, watch };
    return address === null ? exportTo(place, work) : exportToBucket(await open(address, watch.signal), work);
  };
  const exported = readMirror(store, read, { replica: settings.replica, signal: watch.signal });
  return translateErrors(exported, (error) => store.explain(folderError(settings.to, error, null)));
}

/** Opens a bucket. Loads the client only now, as few exports need it. @throws SyncError */
export async function openBucket(address: BucketAddress, signal: AbortSignal): Promise<ObjectStore> {
  return (await import('../export/bucket/s3-store.ts')).openS3(address, signal);
}

function exportToBucket(store: ObjectStore, work: MirrorExport): Promise<ExportReport> {
  return withImage(store, 'for-export', async (image) => {
    const { path: folder, files } = image;
    const place = { to: `${folder}, for ${store.url},`, folder, location: store.url, nonce: randomUUID(), files };
    const report = await exportTo(place, work);
    const warnings = await upload(store, image, { nowMs: Date.now(), signal: work.watch.signal });
    return { ...report, warnings: [...report.warnings, ...warnings] };
  });
}

interface MirrorExport {
  readonly mirror: MirrorFile;
  readonly settings: ExportSettings;
  readonly watch: WorkWatch<ExportEvent>;
}

interface ExportPlace {
  /** As messages name it. */
  readonly to: string;
  readonly folder: string;
  /** Where readers find it; null for the folder itself. */
  readonly location: string | null;
  /** As in `ExportScope`. */
  readonly nonce: string | null;
  readonly files: FileOperations;
}

async function exportTo(
  { to, folder, location, nonce, files }: ExportPlace,
  { mirror: { connection }, settings, watch }: MirrorExport,
): Promise<ExportReport> {
  // All statements until its end read the same state of the mirror.
  connection.exec('begin');
  let lock: MirrorLock | null = null;
  try {
    const scope = scopeOf(connection, settings, nonce);
    refuseForeignFolder(folder);
    const path = realpathSync(folder);
    // Ensures one export at a time. Its file also marks the folder as an export.
    lock = lockFolder(to, join(path, MANIFEST_NAME), files);
    const onTable = (table: string, rows: number): void => watch.onProgress({ type: 'table', table, rows });
    const where = { folder: new ExportFolder(path, files), to, location: location ?? path };
    const work = { connection, scope, ...where, signal: watch.signal, nowMs: Date.now(), onTable };
    return reportOf(settings.to, await exportTables(work, readManifest(path)));
  } finally {
    // An upload follows, and a reader keeps the log of the mirror from shrinking.
    if (connection.inTransaction) connection.exec('rollback');
    lock?.release();
  }
}

/** @throws SyncError `usage` */
function scopeOf(connection: MirrorFile['connection'], settings: ExportSettings, nonce: string | null): ExportScope {
  const environments = environmentsOf(connection, settings.environments);
  return {
    format: settings.format,
    relations: relationsOf(settings.tables, settings.views),
    environments,
    limited: settings.environments.length > 0,
    instant: exportInstant(environments),
    schema_version: sqliteVersion(connection),
    run: newestRun(connection),
    keep: settings.keep,
    targetBytes: settings.targetSize * 2 ** 20,
    nonce,
  };
}

/** @throws SyncError `usage` if the folder is neither empty nor an export */
function refuseForeignFolder(to: string): void {
  if (!existsSync(to)) {
    refuseNoParent(to, 'folder');
    mkdirSync(to);
  }
  if (!statSync(to).isDirectory()) throw usageError(`${to} is a file: name a folder with --to`);
  const names = readdirSync(to);
  if (names.length === 0 || names.includes(`${MANIFEST_NAME}.lock`)) return;
  if (names.includes(MANIFEST_NAME) && readManifest(to) !== null) return;
  throw usageError(`${to} contains files that are not an export: name an empty folder with --to`);
}

/** Takes the lock of an export folder, next to its manifest. @throws SyncError `locked`; `run` if full; `usage` */
function lockFolder(to: string, manifest: string, files: FileOperations): MirrorLock {
  try {
    return takeLock(manifest, { isReplaced: true });
  } catch (error) {
    throw error instanceof SyncError ? lockError(to, manifest, error, files) : error;
  }
}

export function lockError(to: string, manifest: string, cause: SyncError, files: FileOperations): SyncError {
  if (cause.recovery === 'locked')
    return new SyncError('locked', `another export is writing to ${to}: wait for it to end, or stop it`, { cause });
  if (isFullAt(manifest, cause.cause, files)) return new SyncError('run', fullDisk(to), { cause });
  const message = `${to} cannot be written: check its permissions, or name another folder with --to`;
  return new SyncError(cause.recovery, message, { cause });
}

/** SQLite does not say why it cannot open a file, so this tries to create one in the folder. */
function isFullAt(manifest: string, cause: unknown, files: FileOperations): boolean {
  if (!(cause instanceof Database.SqliteError)) return false;
  if (cause.code === 'SQLITE_FULL') return true;
  const beside = `${lockPath(manifest)}.tmp`;
  try {
    files.close(files.create(beside));
    files.remove(beside);
    return false;
  } catch (error) {
    return isDiskFull(error);
  }
}

function reportOf(
  to: string,
  { manifest, written, dropped, removedCount, notes, warnings }: ExportResult,
): ExportReport {
  return {
    to,
    format: manifest.format,
    instant: manifest.instant,
    ...countsOf(manifest.files, written),
    files_removed: removedCount,
    dropped_tables: dropped.tables,
    dropped_environments: dropped.environments,
    dropped_files: dropped.fileCount,
    notes,
    warnings,
    tables: manifest.tables.map(({ name }) => {
      const ofTable = (files: readonly ExportedFile[]) => files.filter(({ table }) => table === name);
      return { table: name, ...countsOf(ofTable(manifest.files), ofTable(written)) };
    }),
  };
}

function countsOf(files: readonly ExportedFile[], written: readonly ExportedFile[]): FileCounts {
  return {
    rows: sumOfFiles(files, 'rows'),
    files: files.length,
    bytes: sumOfFiles(files, 'bytes'),
    files_written: written.length,
    bytes_written: sumOfFiles(written, 'bytes'),
  };
}
