import type { Database } from 'better-sqlite3';
import type { Instant } from '../core/instant.ts';
import { batchesOf, rowsPerFile } from './batches.ts';
import { createDataFile, type DataFile } from './data-file.ts';
import { sizeOf } from './export-files.ts';
import type { ExportFolder } from './export-folder.ts';
import { type ExportedFile, type ExportManifest, LAYOUT, MANIFEST_NAME, manifestText, PROGRAM } from './manifest.ts';
import { passOn } from './pass-on.ts';
import { readerOf, type SegmentReader } from './read-segments.ts';
import type { ExportRelation } from './relation.ts';
import type { SurveyedSegment } from './segment.ts';
import { VIEWS_NAME, viewsSql } from './views-sql.ts';

/** What an export consists of, whatever is in its folder already. */
export interface ExportScope {
  readonly relations: readonly ExportRelation[];
  readonly environments: readonly { readonly env_id: string; readonly instant: Instant | null }[];
  /** Whether it was limited to some environments. */
  readonly isLimited: boolean;
  readonly schemaVersion: number;
  /** The number of earlier exports whose files stay, for readers that go by their manifests. */
  readonly keep: number;
}

export interface ExportResult {
  readonly manifest: ExportManifest;
  readonly written: readonly ExportedFile[];
  readonly removedCount: number;
}

/** The mirror as of one instant: the connection is inside a read transaction. */
export interface ExportWork {
  readonly connection: Database;
  readonly folder: ExportFolder;
  readonly signal: AbortSignal;
  onTable(table: string, rows: number): void;
}

/**
 * Writes what has changed since the previous export. The manifest is replaced last: until then the previous export stands, and
 * after a failure it still does.
 */
export async function exportTables(
  work: ExportWork,
  scope: ExportScope,
  previous: ExportManifest | null,
): Promise<ExportResult> {
  const { folder } = work;
  try {
    const files: ExportedFile[] = [];
    const reusable = reusableFiles(folder, scope, previous);
    for (const exportRelation of scope.relations) {
      const ofRelation: ExportedFile[] = [];
      for (const { env_id } of scope.environments) {
        const known = reusable.get(`${exportRelation.name}/${env_id}`) ?? [];
        ofRelation.push(...(await exportEnvironment(work, exportRelation, env_id, known)));
      }
      work.onTable(exportRelation.name, sumOf(ofRelation, 'rows'));
      files.push(...ofRelation);
    }
    return publish(work, scope, files, previous);
  } catch (error) {
    undo(folder, previous);
    throw error;
  }
}

function undo(folder: ExportFolder, previous: ExportManifest | null): void {
  try {
    folder.undo(pathsOf(previous));
  } catch {
    // What made the export fail is the error to report. The next export removes what is left.
  }
}

/** The files of the previous export, by relation and environment, unless this version would write the same rows differently. */
function reusableFiles(
  { format }: ExportFolder,
  { schemaVersion }: ExportScope,
  previous: ExportManifest | null,
): Map<string, ExportedFile[]> {
  const isAlike =
    previous?.layout === LAYOUT && previous.format === format && previous.schema_version === schemaVersion;
  return Map.groupBy(isAlike ? previous.files : [], ({ table, env_id }) => `${table}/${env_id}`);
}

/** @returns the files of the environment: those whose rows have not changed, and new ones for all other rows */
async function exportEnvironment(
  work: ExportWork,
  exportRelation: ExportRelation,
  envId: string,
  known: readonly ExportedFile[],
): Promise<ExportedFile[]> {
  const reader = readerOf(work.connection, exportRelation, envId);
  const surveyed = reader.survey(known);
  await passOn(work.signal);
  const changed = surveyed.filter((each) => !isUnchanged(work.folder, each));
  const kept = surveyed.filter((each) => !changed.includes(each)).flatMap(({ segment }) => segment.file ?? []);
  const allRows = surveyed.reduce((count, { rows }) => count + rows, 0);
  const written = await writeSegments(work, exportRelation, reader, { changed, fileRows: rowsPerFile(allRows) });
  return [...kept, ...written].sort(inPlace);
}

function isUnchanged({ path }: ExportFolder, { segment: { file }, changes }: SurveyedSegment): boolean {
  return file !== null && file.changes === changes && sizeOf(`${path}/${file.path}`) === file.bytes;
}

/** By month, then by range. */
function inPlace(a: ExportedFile, b: ExportedFile): number {
  return compare(a.month, b.month) || compare(a.from, b.from);
}

/** In the order of SQLite, which compares bytes; nothing comes first. */
function compare(a: string | null, b: string | null): number {
  return Buffer.compare(Buffer.from(a ?? ''), Buffer.from(b ?? ''));
}

async function writeSegments(
  { folder, signal }: ExportWork,
  exportRelation: ExportRelation,
  reader: SegmentReader,
  { changed, fileRows }: { readonly changed: readonly SurveyedSegment[]; readonly fileRows: number },
): Promise<ExportedFile[]> {
  const written: ExportedFile[] = [];
  if (changed.length === 0) return written;
  let file: DataFile | null = null;
  try {
    for (const { surveyed, rows, newFileFrom } of batchesOf(reader.rows(changed), reader.cutValue, fileRows)) {
      if (newFileFrom !== undefined) {
        if (file !== null) written.push(file.finish());
        file = createDataFile(folder, { exportRelation, segment: surveyed.segment, from: newFileFrom });
      }
      file?.add(rows);
      await passOn(signal);
    }
    if (file !== null) written.push(file.finish());
  } catch (error) {
    file?.abandon();
    throw error;
  }
  return written;
}

/** Makes the new export the one that stands. */
function publish(
  { folder }: ExportWork,
  scope: ExportScope,
  files: readonly ExportedFile[],
  previous: ExportManifest | null,
): ExportResult {
  const manifest = manifestOf(folder, scope, files, previous);
  const before = new Set(previous?.files.map(({ path }) => path));
  if (previous === null || manifestText(manifest) !== manifestText(previous)) {
    folder.syncNames();
    folder.replace(VIEWS_NAME, viewsSql(folder.path, manifest));
    folder.replace(MANIFEST_NAME, manifestText(manifest));
  }
  const removedCount = folder.removeOthers(pathsOf(manifest));
  return { manifest, written: files.filter(({ path }) => !before.has(path)), removedCount };
}

function manifestOf(
  { format, instant }: ExportFolder,
  { relations, environments, isLimited, schemaVersion, keep }: ExportScope,
  files: readonly ExportedFile[],
  previous: ExportManifest | null,
): ExportManifest {
  const byTable = Map.groupBy(files, ({ table }) => table);
  const manifest = {
    program: PROGRAM,
    layout: LAYOUT,
    format,
    instant,
    schema_version: schemaVersion,
    limited: isLimited,
    environments,
    tables: relations.map(({ name, kind, columns }) => ({
      name,
      kind,
      columns,
      rows: sumOf(byTable.get(name) ?? [], 'rows'),
      bytes: sumOf(byTable.get(name) ?? [], 'bytes'),
    })),
    files,
    earlier: [],
  } satisfies ExportManifest;
  return { ...manifest, earlier: earlierExports(manifest, previous).slice(0, keep) };
}

/** The earlier exports, the latest first, each with those of its files that are not part of the new one. */
function earlierExports(manifest: ExportManifest, previous: ExportManifest | null): ExportManifest['earlier'] {
  if (previous === null) return [];
  // Nothing has changed: it is the same export.
  if (manifestText(manifest) === manifestText({ ...previous, earlier: [] })) return previous.earlier;
  const current = new Set(manifest.files.map(({ path }) => path));
  return [{ instant: previous.instant, paths: previous.files.map(({ path }) => path) }, ...previous.earlier].map(
    ({ instant, paths }) => ({ instant, paths: paths.filter((path) => !current.has(path)) }),
  );
}

/** The files of an export and of the earlier ones that it keeps. */
function pathsOf(manifest: ExportManifest | null): Set<string> {
  if (manifest === null) return new Set();
  return new Set([...manifest.files.map(({ path }) => path), ...manifest.earlier.flatMap(({ paths }) => paths)]);
}

export function sumOf(files: readonly ExportedFile[], field: 'rows' | 'bytes'): number {
  return files.reduce((sum, file) => sum + file[field], 0);
}
