import { join } from 'node:path';
import { batchesOf } from './batches.ts';
import { droppedParts, findFiles, manifestOf, pathsOf, sumOfFiles } from './build-manifest.ts';
import { createDataFile, type DataFile } from './data-file.ts';
import { lastNumber, readLogs, shortenLogs, undoneChanges, writeLogs } from './delta/write-logs.ts';
import { folderError, isFileIntact, isSystemError, readTextOf } from './export-files.ts';
import type { ExportWork } from './export-work.ts';
import { segmentsToWrite } from './join-segments.ts';
import { type ExportedFile, type ExportManifest, LAYOUT, MANIFEST_NAME, manifestText } from './manifest.ts';
import { continuesFrom } from './mirror-scope.ts';
import { readerOf } from './read-segments.ts';
import type { ExportRelation } from './relation.ts';
import { inPlace, newPartition, type SegmentReader, type SurveyedSegment } from './segment.ts';
import { tableFiles, unsharedPaths } from './table-folders.ts';
import { VIEWS_NAME, viewsSql } from './views-sql.ts';
import { yieldToSignal } from './yield-to-signal.ts';

export interface ExportResult {
  readonly manifest: ExportManifest;
  readonly written: readonly ExportedFile[];
  readonly dropped: ReturnType<typeof droppedParts>;
  readonly removedCount: number;
  /** What the user should know about the folder, one sentence each. */
  readonly notes: readonly string[];
  /** What went wrong after the new export was complete, one sentence each. */
  readonly warnings: readonly string[];
}

/**
 * Writes what has changed since the previous export. The manifest is replaced after all data files: until then the
 * previous export is current, and a failure removes what was written. From then on the new one is current, and none of
 * its files is removed. Delta logs follow, so they too name only files that stay; old files are removed once no log
 * names them.
 */
export async function exportTables(work: ExportWork, previous: ExportManifest | null): Promise<ExportResult> {
  const { scope, folder, to, nowMs } = work;
  const isDelta = scope.format === 'delta';
  const written = isDelta ? scope.relations.map(({ name }) => name) : [];
  const tables = await readLogs(folder.path, written, previous);
  const number = Math.max(previous?.number ?? 0, lastNumber(tables));
  const manifest = await publishOrUndo(work, previous, number);
  let missing = `, but not yet in ${isDelta ? 'every Delta log' : 'the folder of every table'}`;
  try {
    folder.sync();
    const committed = writeLogs(folder, manifest, tables, nowMs);
    if (isDelta) missing = '';
    const warnings = shortenLogs(folder, to, committed, nowMs);
    const result = await finish(work, manifest, previous);
    return { ...result, notes: undoneChanges(tables, committed), warnings: [...warnings, ...result.warnings] };
  } catch (error) {
    throw folderError(to, error, `the new export is complete${missing}`);
  }
}

/** Makes the new export the current one. Nothing may fail after the manifest has its name. */
async function publishOrUndo(
  work: ExportWork,
  previous: ExportManifest | null,
  number: number,
): Promise<ExportManifest> {
  const { folder, scope, to } = work;
  try {
    const manifest = manifestOf(scope, await exportFiles(work, previous), previous, number);
    folder.syncNames();
    if (previous === null || manifestText(manifest) !== manifestText(previous))
      folder.replace(MANIFEST_NAME, manifestText(manifest));
    return manifest;
  } catch (error) {
    folder.undo(pathsOf(previous));
    throw folderError(to, error, previous === null ? null : 'the last complete export is untouched');
  }
}

/** @returns the files of the new export, both kept and written */
async function exportFiles(work: ExportWork, previous: ExportManifest | null): Promise<ExportedFile[]> {
  const { format, relations, environments } = work.scope;
  const files: ExportedFile[] = [];
  const reusable = reusableFiles(work, previous);
  for (const relation of relations) {
    const ofRelation: ExportedFile[] = [];
    for (const { env_id } of environments)
      ofRelation.push(...(await exportEnvironment(work, relation, env_id, reusable(relation.name, env_id))));
    // A Delta table has its columns in its log.
    if (ofRelation.length === 0 && format !== 'delta')
      ofRelation.push(await exportNoRows(work, relation, reusable(relation.name, null)));
    work.onTable(relation.name, sumOfFiles(ofRelation, 'rows'));
    files.push(...ofRelation);
  }
  return files;
}

/**
 * The files of the previous export, by relation and environment. None if this version would write the same rows
 * differently, or if `mirrored_at` does not show what has changed since: in a mirror restored from a backup, other
 * commits may have the same times (R21).
 */
function reusableFiles(
  { connection, scope: { format, schema_version } }: ExportWork,
  previous: ExportManifest | null,
): ReturnType<typeof findFiles> {
  const isAlike =
    previous?.layout === LAYOUT &&
    previous.format === format &&
    previous.schema_version === schema_version &&
    continuesFrom(connection, previous.run ?? null);
  return findFiles(isAlike ? previous.files : []);
}

/** @returns the files of the environment: those with unchanged rows, and new ones for all other rows */
async function exportEnvironment(
  work: ExportWork,
  relation: ExportRelation,
  envId: string,
  known: readonly ExportedFile[],
): Promise<ExportedFile[]> {
  const reader = readerOf(work.connection, relation, envId);
  const surveyed = reader.survey(known);
  await yieldToSignal(work.signal);
  const changed = new Set<SurveyedSegment>();
  const { path, files } = work.folder;
  // A damaged file is written again: hashing it takes a fraction of the time of reading its rows from the mirror.
  for (const each of surveyed)
    if (each.file?.changes !== each.changes || !(await isFileIntact(path, each.file, files))) changed.add(each);
  const { kept, segments } = segmentsToWrite(surveyed, changed, work.scope.targetBytes);
  const written = await writeSegments(work, relation, reader, segments);
  return [...kept, ...written].sort(inPlace);
}

async function exportNoRows(
  work: ExportWork,
  relation: ExportRelation,
  [known]: readonly ExportedFile[],
): Promise<ExportedFile> {
  const { folder } = work;
  if (known !== undefined && (await isFileIntact(folder.path, known, folder.files))) return known;
  const file = createDataFile(work, relation, newPartition(null, null));
  try {
    return file.finish();
  } finally {
    file.abandon();
  }
}

async function writeSegments(
  work: ExportWork,
  relation: ExportRelation,
  reader: SegmentReader,
  segments: readonly SurveyedSegment[],
): Promise<ExportedFile[]> {
  const written: ExportedFile[] = [];
  if (segments.length === 0) return written;
  const { targetBytes } = work.scope;
  let file = null as DataFile | null;
  // The rest should not be a small file.
  const isFull = (rowsLeft: number): boolean => {
    const { rows, bytes } = file?.size() ?? { rows: 0, bytes: 0 };
    return bytes >= targetBytes && (rowsLeft * bytes) / rows >= targetBytes / 2;
  };
  try {
    for (const { surveyed, rows, newFileFrom } of batchesOf(reader.rows(segments), reader.cutValue, isFull)) {
      if (newFileFrom !== undefined) {
        if (file !== null) written.push(file.finish());
        file = createDataFile(work, relation, { ...surveyed, from: newFileFrom });
      }
      file?.add(rows);
      await yieldToSignal(work.signal);
    }
    if (file !== null) written.push(file.finish());
  } catch (error) {
    file?.abandon();
    throw error;
  }
  return written;
}

/**
 * Brings the rest of the folder in line with the manifest. Old files go last: until then the old views still find
 * theirs, and no row is missing from the folder of its table.
 */
async function finish(
  { folder, to, location }: ExportWork,
  manifest: ExportManifest,
  previous: ExportManifest | null,
): Promise<Omit<ExportResult, 'notes'>> {
  const views = viewsSql(location, manifest);
  if (readTextOf(join(folder.path, VIEWS_NAME)) !== views) {
    folder.replace(VIEWS_NAME, views);
    folder.sync();
  }
  const shared = tableFiles(manifest);
  for (const path of await unsharedPaths(folder.path, manifest, folder.files))
    folder.share(shared.get(path)?.path ?? path, path);
  folder.syncNames();
  const { removed, failure } = folder.removeOthers(new Set([...pathsOf(manifest), ...shared.keys()]));
  if (failure !== null && !isSystemError(failure)) throw failure;
  const [before, pathsBefore] = [new Set(previous?.files), pathsOf(previous)];
  return {
    manifest,
    written: manifest.files.filter((file) => !before.has(file)),
    dropped: droppedParts(manifest, previous),
    removedCount: removed.filter((path) => pathsBefore.has(path)).length,
    warnings:
      failure === null
        ? []
        : [
            `old files in ${to} cannot be removed (${String(failure.code)}): check its permissions; the next export removes them`,
          ],
  };
}
