import { deepStrictEqual } from 'node:assert/strict';
import { withoutNulEscapes } from '../../src/core/json.ts';
import type { Row } from '../../src/core/stream.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';

/** A table or view that a mirror has in every database. */
export interface MirrorRelation {
  readonly name: string;
  readonly columns: readonly string[];
  /** Columns with means, which may differ slightly because each database sums in its own order. */
  readonly means: readonly string[];
}

/** Everything that the migrations create, except the log of migrations. */
function relationsOf(type: 'table' | 'view'): MirrorRelation[] {
  const { connection } = openForWriting(':memory:');
  const named = connection.prepare<[string], string>(
    "select name from sqlite_schema where type = ? and name not like 'sqlite\\_%' escape '\\' and name not like '\\_\\_%' escape '\\'",
  );
  const columnsOf = connection.prepare<[string], string>('select name from pragma_table_info(?)');
  const relations = named
    .pluck()
    .all(type)
    .map((name) => {
      const columns = columnsOf.pluck().all(name);
      return { name, columns, means: columns.filter((column) => isMean(name, column)) };
    });
  connection.close();
  return relations;
}

const isMean = (relation: string, column: string): boolean =>
  column.startsWith('mean_') || (relation === 'asset_health_means' && column === 'score');

export const TABLES: readonly MirrorRelation[] = relationsOf('table');
export const VIEWS: readonly MirrorRelation[] = relationsOf('view');

/** Queries a mirror. The values have the types that SQLite would return. */
export type AskMirror = (sql: string) => Promise<readonly Row[]> | readonly Row[];

/**
 * Expects two mirrors to have the same rows in these relations. `except` lists the columns of a relation that may
 * differ; null means all of them.
 */
export async function expectSameRows(
  one: AskMirror,
  other: AskMirror,
  relations: readonly MirrorRelation[],
  except: Readonly<Record<string, readonly string[] | null>> = {},
): Promise<void> {
  for (const relation of relations) {
    const left = except[relation.name];
    if (left === null) continue;
    const sql = selectOf(relation, left);
    sameRows(relation, await one(sql), await other(sql));
  }
}

export function selectOf({ name, columns }: MirrorRelation, except: readonly string[] = []): string {
  const named = columns.filter((column) => !except.includes(column)).map((column) => `"${column}"`);
  return `select ${named.join(', ')} from "${name}"`;
}

/** Compares rows in any order. @throws AssertionError */
export function sameRows({ name, means }: MirrorRelation, rows: readonly Row[], others: readonly Row[]): void {
  const [left, right] = [sorted(others, means), sorted(rows, means)];
  // Telling rows that are the same is much faster than `deepStrictEqual`, which says what differs.
  if (left.length === right.length && left.every((row, i) => isSame(row, right[i] ?? {}))) return;
  deepStrictEqual({ [name]: left }, { [name]: right });
}

function isSame(one: Row, other: Row): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => Object.is(one[name], other[name]));
}

function sorted(rows: readonly Row[], means: readonly string[]): Row[] {
  return rows
    .map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, shown(name, value, means)])))
    .map((row) => [JSON.stringify(row), row] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, row]) => row);
}

function shown(name: string, value: Row[string] | undefined, means: readonly string[]): Row[string] {
  if (typeof value === 'string') return shownText(value);
  if (typeof value === 'number' && means.includes(name)) return Number(value.toPrecision(14));
  return value ?? null;
}

/** PostgreSQL cannot store U+0000; it has U+FFFD instead (R19), in JSON too. */
export function shownText(text: string): string {
  return withoutNulEscapes(text).replaceAll('\u0000', '\ufffd');
}
