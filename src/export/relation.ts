import type { ColumnKind } from '../../schema/column-types.ts';
import { isStaged } from '../../schema/common-columns.ts';
import { MIRROR_VIEWS } from '../../schema/dictionary.ts';
import { prunedHistory } from '../../schema/histories.ts';
import { mirrorEnvironments } from '../../schema/sync.ts';
import { type DescribedColumn, type DescribedTable, descriptionOf } from '../../schema/table.ts';
import { MIRRORED_TABLES } from '../../schema/tables.ts';

/** What a column of an export holds. A `timestamp` is an instant (R4), a `date` is its day, and `json` is JSON text. */
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
  /** What it and its columns mean, for files that say so. */
  readonly described: DescribedTable;
  readonly envColumn: string;
  /** The key after the environment; rows are written in its order. A view has no key, so all its columns are used. */
  readonly order: readonly string[];
  /** The column with the time that a row belongs to; null without one. */
  readonly timeColumn: string | null;
  /** The columns that show whether a row has changed: its key and `mirrored_at` (R21). */
  readonly changeColumns: readonly string[];
}

/** Histories, which grow with time. Rows of other tables have times too, but don't belong to one. */
const TIME_COLUMNS: Readonly<Record<string, string>> = {
  test_executions: 'start_time',
  asset_health_score_history: 'bucket_at',
};

const TYPES: Readonly<Record<ColumnKind, ColumnType>> = {
  text: 'text',
  integer: 'integer',
  real: 'real',
  time: 'timestamp',
  day: 'date',
  flag: 'boolean',
  json: 'json',
};

/** Every mirrored table, those with each environment's clock and what was pruned of it, and every view. */
export const EXPORT_RELATIONS: readonly ExportRelation[] = [
  ...[...MIRRORED_TABLES, mirrorEnvironments, prunedHistory]
    .map(descriptionOf)
    .filter((table) => !isStaged(table))
    .map(tableRelation),
  ...MIRROR_VIEWS.map(descriptionOf).map(viewRelation),
];

function tableRelation(described: DescribedTable): ExportRelation {
  const { name, key, columns } = described;
  const isByEnvironment = key[0] === 'env_id';
  return {
    name,
    kind: 'table',
    columns: columns.map(exportColumn),
    described,
    envColumn: isByEnvironment ? 'env_id' : 'id',
    order: isByEnvironment ? key.slice(1) : key,
    timeColumn: TIME_COLUMNS[name] ?? null,
    changeColumns: [...key, 'mirrored_at'],
  };
}

function viewRelation(described: DescribedTable): ExportRelation {
  const { name, columns } = described;
  const names = columns.map((column) => column.name);
  return {
    name,
    kind: 'view',
    columns: columns.map(exportColumn),
    described,
    envColumn: 'env_id',
    // The name of the environment is the same in all its rows.
    order: names.filter((column) => column !== 'env_id' && column !== 'env_name'),
    timeColumn: null,
    changeColumns: names,
  };
}

function exportColumn({ name, kind }: DescribedColumn): ExportColumn {
  return { name, type: TYPES[kind] };
}

export function quoteName(name: string): string {
  return `"${name}"`;
}

export const quotedNames = (names: readonly string[]): string => names.map(quoteName).join(', ');
