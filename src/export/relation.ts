import { is } from 'drizzle-orm';
import { getTableConfig, getViewConfig, type SQLiteColumn, SQLiteTable, SQLiteView } from 'drizzle-orm/sqlite-core';
import * as assets from '../../schema/assets.ts';
import { kindOf } from '../../schema/common-columns.ts';
import * as tests from '../../schema/data-tests.ts';
import * as health from '../../schema/health.ts';
import * as views from '../../schema/views.ts';
import * as dailyViews from '../../schema/views-daily.ts';
import * as testViews from '../../schema/views-data-tests.ts';
import * as impactViews from '../../schema/views-impact.ts';

/**
 * What a column of an export holds. A `timestamp` is an instant (R4), a `date` is a day of it, and `json` is JSON text.
 */
export type ColumnType = 'text' | 'integer' | 'real' | 'boolean' | 'timestamp' | 'date' | 'json';

export interface ExportColumn {
  readonly name: string;
  readonly type: ColumnType;
}

/** A table or view of the mirror, as an export reads it. */
export interface ExportRelation {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly columns: readonly ExportColumn[];
  /** The column that holds the id of the environment. */
  readonly envColumn: string;
  /** The key after the environment: rows are written in its order. A view has none, so all its columns stand in. */
  readonly order: readonly string[];
  /** The column with the time that a row belongs to; null for a relation without one. */
  readonly timeColumn: string | null;
  /** What tells that a row has changed: its key and `mirrored_at` (R21). */
  readonly changeColumns: readonly string[];
}

/** Histories, which grow with time. The rows of all other tables have times as well, but do not belong to one. */
const TIME_COLUMNS: Readonly<Record<string, string>> = {
  test_executions: 'start_time',
  asset_health_score_history: 'bucket_at',
};

/** Rows of an unfinished round, which are not mirrored yet (R16). */
const isStaged = (table: SQLiteTable): boolean => getTableConfig(table).name.endsWith('_staged');

const isTimestamp = (name: string): boolean => /_(at|time|since)$/.test(name);

const isFlag = (name: string): boolean => /^(is|has)_|(^|_)disabled$/.test(name);

/** Every mirrored table and every view. */
export const EXPORT_RELATIONS: readonly ExportRelation[] = [
  ...[assets, tests, health]
    .flatMap((family): unknown[] => Object.values(family))
    .filter((each) => is(each, SQLiteTable))
    .filter((table) => !isStaged(table))
    .map(tableRelation),
  ...[views, testViews, dailyViews, impactViews]
    .flatMap((family): unknown[] => Object.values(family))
    .filter((each) => is(each, SQLiteView))
    .map(viewRelation),
];

function tableRelation(table: SQLiteTable): ExportRelation {
  const { name, columns, primaryKeys } = getTableConfig(table);
  const key = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
  const keyNames = key.map((column) => column.name);
  const isByEnvironment = keyNames[0] === 'env_id';
  return {
    name,
    kind: 'table',
    columns: columns.map((column) => exportColumn(column.name, column)),
    envColumn: isByEnvironment ? 'env_id' : 'id',
    order: isByEnvironment ? keyNames.slice(1) : keyNames,
    timeColumn: TIME_COLUMNS[name] ?? null,
    changeColumns: [...keyNames, 'mirrored_at'],
  };
}

function viewRelation(view: SQLiteView): ExportRelation {
  const { name, selectedFields } = getViewConfig(view);
  const columns = Object.entries(selectedFields as Record<string, SQLiteColumn>);
  const names = columns.map(([column]) => column);
  return {
    name,
    kind: 'view',
    columns: columns.map(([column, declared]) => exportColumn(column, declared)),
    envColumn: 'env_id',
    // The name of the environment is the same in all rows of it.
    order: names.filter((column) => column !== 'env_id' && column !== 'env_name'),
    timeColumn: null,
    changeColumns: names,
  };
}

function exportColumn(name: string, declared: SQLiteColumn): ExportColumn {
  const kind = kindOf(declared);
  // A view declares what SQLite says of a column. Its name tells the rest.
  if (kind === 'time' || (kind === 'text' && isTimestamp(name))) return { name, type: 'timestamp' };
  if (kind === 'day' || (kind === 'text' && name === 'day')) return { name, type: 'date' };
  if (kind === 'flag' || (kind === 'integer' && isFlag(name))) return { name, type: 'boolean' };
  return { name, type: kind };
}
