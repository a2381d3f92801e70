import { deepStrictEqual } from 'node:assert/strict';
import { is } from 'drizzle-orm';
import { getTableConfig, getViewConfig, SQLiteTable, SQLiteView } from 'drizzle-orm/sqlite-core';
import * as assets from '../../schema/assets.ts';
import * as tests from '../../schema/data-tests.ts';
import * as health from '../../schema/health.ts';
import * as page from '../../schema/page.ts';
import * as sync from '../../schema/sync.ts';
import * as views from '../../schema/views.ts';
import * as dailyViews from '../../schema/views-daily.ts';
import * as testViews from '../../schema/views-data-tests.ts';
import * as impactViews from '../../schema/views-impact.ts';
import type { Row } from '../../src/core/stream.ts';

/** A table or view that a mirror has in every database. */
export interface MirrorRelation {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns of doubles that are means: each database adds up in its own order. */
  readonly means: readonly string[];
}

const all = [assets, tests, health, page, sync, views, testViews, dailyViews, impactViews].flatMap(
  (family): unknown[] => Object.values(family),
);

export const TABLES: readonly MirrorRelation[] = all
  .filter((each) => is(each, SQLiteTable))
  .map((table) => {
    const { name, columns } = getTableConfig(table);
    // A mean that is stored was added up by the database as well.
    const means = name === 'asset_health_means' ? ['score'] : [];
    return { name, columns: columns.map((column) => column.name), means };
  });

export const VIEWS: readonly MirrorRelation[] = all
  .filter((each) => is(each, SQLiteView))
  .map((view) => {
    const { name, selectedFields } = getViewConfig(view);
    const columns = Object.keys(selectedFields);
    return { name, columns, means: columns.filter((column) => column.startsWith('mean_')) };
  });

/** Asks a mirror, with the values that SQLite would give. */
export type AskMirror = (sql: string) => Promise<readonly Row[]> | readonly Row[];

/**
 * Expects two mirrors to have the same rows in these relations. `except` are columns that are known to differ, by their relation; null for all
 * columns of it.
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

/** @throws AssertionError where the rows differ, in whatever order they come */
export function sameRows({ name, means }: MirrorRelation, rows: readonly Row[], others: readonly Row[]): void {
  deepStrictEqual({ [name]: sorted(others, means) }, { [name]: sorted(rows, means) });
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

/**
 * PostgreSQL has no text with U+0000, nor with half of a surrogate pair: it shows U+FFFD. So does Node for the three bytes that SQLite stores
 * for such a half.
 */
export function shownText(text: string): string {
  return text.replaceAll('\u0000', '\ufffd').replaceAll('\ufffd\ufffd\ufffd', '\ufffd');
}
