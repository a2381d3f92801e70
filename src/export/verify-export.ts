import type { Database } from 'better-sqlite3';
import { SyncError } from '../core/errors.ts';
import { batchesOf } from './batches.ts';
import { findFiles } from './build-manifest.ts';
import { createMeasure } from './data-file.ts';
import type { DeltaField, DeltaSnapshot, MetaDataAction } from './delta/delta-action.ts';
import { LOG_NAME, readWritableLog } from './delta/delta-log.ts';
import { type DeltaTable, deltaTables } from './delta/delta-table.ts';
import { isFileIntact, NODE_FILES } from './export-files.ts';
import type { ExportedFile, ExportManifest } from './manifest.ts';
import { readerOf } from './read-segments.ts';
import { EXPORT_RELATIONS, type ExportRelation } from './relation.ts';
import { strayPaths, unsharedPaths } from './table-folders.ts';
import { yieldToSignal } from './yield-to-signal.ts';

/**
 * How an export differs from the mirror:
 * - `missing`: the mirror has rows in a partition that the export lacks
 * - `extra`: the mirror has no rows for the file
 * - `unequal`: the mirror's rows differ from those written to the file
 * - `damaged`: the file is missing or unreadable, or its bytes are not the written ones
 * - `unlogged`: the Delta log of the table does not have the exported files and columns
 */
export interface ExportDifference {
  readonly what: 'missing' | 'extra' | 'unequal' | 'damaged' | 'unlogged';
  readonly table: string;
  /** Null for a whole table. */
  readonly env_id: string | null;
  readonly month: string | null;
  /** Null for a partition without a file. */
  readonly path: string | null;
  /** Why the next export refuses the table's Delta log, and what to do first; null if it repairs the difference. */
  readonly reason: string | null;
}

/** An export and the mirror to compare it with; the connection is inside a read transaction. */
export interface ExportComparison {
  readonly connection: Database;
  readonly folder: string;
  readonly manifest: ExportManifest;
  readonly envIds: readonly string[];
  readonly signal: AbortSignal;
}

/** Compares all rows of the mirror and all bytes of the files with the manifest. @throws SyncError */
export async function compareExport(comparison: ExportComparison): Promise<ExportDifference[]> {
  const { manifest, envIds, folder, signal } = comparison;
  const differences: ExportDifference[] = [];
  const files = findFiles(manifest.files);
  for (const { name } of manifest.tables) {
    const exportRelation = relationNamed(name);
    for (const envId of new Set([...envIds, ...manifest.environments.map(({ env_id }) => env_id)])) {
      differences.push(...(await compareRows(comparison, exportRelation, envId, files(name, envId))));
    }
  }
  for (const file of manifest.files) {
    await yieldToSignal(signal);
    if (!(await isFileIntact(folder, file, NODE_FILES))) differences.push(differenceOf(file, 'damaged'));
  }
  for (const path of await unsharedPaths(folder, manifest, NODE_FILES))
    differences.push(differenceOf({ table: tableOf(path), path }, 'damaged'));
  for (const path of strayPaths(folder, manifest))
    differences.push(differenceOf({ table: tableOf(path), path }, 'extra'));
  for (const table of deltaTables(manifest)) differences.push(...(await compareLog(folder, table)));
  return differences;
}

function relationNamed(name: string): ExportRelation {
  const exportRelation = EXPORT_RELATIONS.find((each) => each.name === name);
  if (exportRelation === undefined)
    throw new SyncError('run', `the export has a table ${name} that the mirror does not have: export again`);
  return exportRelation;
}

async function compareRows(
  { connection, signal }: ExportComparison,
  relation: ExportRelation,
  envId: string,
  files: readonly ExportedFile[],
): Promise<ExportDifference[]> {
  const reader = readerOf(connection, relation, envId);
  const surveyed = reader.survey(files);
  const held = surveyed.filter(({ file }) => file !== null);
  const measures = new Map(held.map(({ file }) => [file, createMeasure(relation)]));
  for (const batch of batchesOf(reader.rows(held), reader.cutValue, () => false)) {
    measures.get(batch.surveyed.file)?.add(batch.rows);
    await yieldToSignal(signal);
  }
  const missing = surveyed.filter(({ file }) => file === null);
  return [
    ...missing.map(({ env_id, month }) => differenceOf({ table: relation.name, env_id, month }, 'missing')),
    ...files
      .filter((file) => measures.get(file)?.result().content_sha256 !== file.content_sha256)
      .map((file) => differenceOf(file, measures.has(file) ? 'unequal' : 'extra')),
  ];
}

/** The difference if the log lacks files or columns of the manifest. A `reason` says why the next export refuses it. */
async function compareLog(folder: string, table: DeltaTable): Promise<ExportDifference[]> {
  const place = { table: table.name, path: `${table.name}/${LOG_NAME}` };
  try {
    return isEqual(table, await readWritableLog(folder, table.name)) ? [] : [differenceOf(place, 'unlogged')];
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    return [differenceOf({ ...place, reason: error.message }, 'unlogged')];
  }
}

function isEqual({ files, metaData }: DeltaTable, snapshot: DeltaSnapshot): boolean {
  return (
    snapshot.protocol !== null &&
    snapshot.metaData !== null &&
    columnsOf(metaData) === columnsOf(snapshot.metaData) &&
    files.size === snapshot.files.size &&
    [...files.values()].every(({ path, size }) => snapshot.files.get(path)?.size === size)
  );
}

/** Another program's log may lack what the protocol requires. */
function columnsOf({ schemaString = '{}' }: Partial<MetaDataAction>): string {
  const { fields = [] } = JSON.parse(schemaString) as { readonly fields?: readonly DeltaField[] };
  return JSON.stringify(fields.map(({ name, type }) => [name, type]));
}

const tableOf = (path: string): string => path.slice(0, path.indexOf('/'));

function differenceOf(
  { table, env_id = null, month = null, path = null, reason = null }: DifferencePlace,
  what: ExportDifference['what'],
): ExportDifference {
  return { what, table, env_id, month, path, reason };
}

type DifferencePlace = Pick<ExportDifference, 'table'> & Partial<Omit<ExportDifference, 'what' | 'table'>>;
