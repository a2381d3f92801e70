import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { syncRuns, syncStreamRuns } from '../../../schema/sync.ts';
import { MIRRORED_TABLES, STATE_TABLES } from '../../../schema/tables.ts';
import type { MirrorVersions, RefreshedTable } from '../../core/decide/plan-refresh.ts';
import type { Instant } from '../../core/time/instant.ts';
import { CATALOGUE } from '../../streams/catalogue.ts';
import { quote, type TableSql, tableSqlOf } from './tables.ts';

/** A table as a copy needs it; every kind of mirror has it. */
export interface CopiedTable extends TableSql, Omit<RefreshedTable, 'name'> {
  /** The column that the database numbers; null if there is none. */
  readonly numbered: string | null;
  /** Whether the order of its rows matters: of two staged rows with one key, the later one counts (R16). */
  readonly isOrdered: boolean;
  /** Whether deleted rows stay (R11). */
  readonly hasTombstones: boolean;
  /** The parents that change whenever rows of the table are deleted (R21); empty if not all such deletions show so. */
  readonly parentLinks: readonly ParentLink[];
}

/** A row's values in column order, as SQLite stores them. */
export type CopiedRow = readonly (string | number | bigint | null)[];

/** The rows of a mirror as of one instant. */
export interface CopySource {
  /** The rows in portions of bounded size. */
  rows(table: CopiedTable): AsyncIterable<readonly CopiedRow[]>;
  close(): Promise<void>;
}

/** Some rows of a table; without conditions, all of them. */
export interface RowSelection {
  /** The columns to read; all by default. */
  readonly columns?: readonly string[] | undefined;
  readonly envId?: string | null | undefined;
  /** Only rows that changed after this time; of a log, since all transactions before this one had ended. */
  readonly after?: Instant | null | undefined;
  readonly within?: ColumnStretch | ChangedParents | undefined;
}

/** The rows whose value in a column, such as a time or the number of a run, lies in a stretch. */
export interface ColumnStretch {
  readonly column: string;
  /** Null for no limit. */
  readonly from: string | null;
  readonly before: string;
}

/** The rows of an environment whose parent changed after a time. */
export interface ChangedParents extends ParentLink {
  readonly envId: string;
  readonly after: Instant;
}

/** A column that contains the id of a row of another table. */
interface ParentLink {
  readonly column: string;
  readonly parent: string;
  /** Whether only deleted parents count. */
  readonly isGone: boolean;
}

/** The parts of a condition that differ by database. */
interface WithinDialect {
  /** Returns the placeholder of a value. */
  bind(value: string): string;
  /** The condition that a column has one of the selected values. */
  among(column: string, select: string): string;
}

/** The condition in SQL. */
export function whereWithin(within: ColumnStretch | ChangedParents, { bind, among }: WithinDialect): string {
  const column = quote(within.column);
  if (!('parent' in within)) {
    const { from, before } = within;
    return `${column} < ${bind(before)}${from === null ? '' : ` and ${column} >= ${bind(from)}`}`;
  }
  const { parent, envId, after, isGone } = within;
  // Each half has an index on the time.
  const changed = (isDeleted: string): string => `select id from ${quote(parent)}
    where env_id = ${bind(envId)} and deleted_at is ${isDeleted} and mirrored_at > ${bind(after)}`;
  return among(column, (isGone ? ['not null'] : ['null', 'not null']).map(changed).join(' union all '));
}

/** What a replica reads of its mirror, as of one instant. */
export interface SourceSnapshot {
  versions(): Promise<MirrorVersions>;
  /** The nonce of a run; null without it. */
  nonceOf(runId: number): Promise<string | null>;
  /** The rows in portions of bounded size. */
  rows(table: CopiedTable, selection: RowSelection): AsyncIterable<readonly CopiedRow[]>;
  /** How many rows the table has of an environment; of all if null. */
  count(table: CopiedTable, envId: string | null): Promise<number>;
}

/** A mirror that replicas follow. */
export interface ReplicaSource {
  /** Does work on one state of the mirror. @throws SyncError `usage` if there is none, or one of another version */
  inSnapshot<Done>(work: (snapshot: SourceSnapshot) => Promise<Done>): Promise<Done>;
  close(): Promise<void>;
}

/** A mirror in the making; invisible to others until it is finished. */
export interface CopyTarget {
  write(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void>;
  finish(): Promise<void>;
  /** Removes everything that was written. */
  abandon(): Promise<void>;
}

/** All tables of a mirror, including the state of its syncs. */
export const COPIED_TABLES: readonly CopiedTable[] = [...STATE_TABLES, ...MIRRORED_TABLES].map(copiedTable);

function copiedTable(table: SQLiteTable): CopiedTable {
  const tableSql = tableSqlOf(table);
  const { key, kinds } = tableSql;
  const [first = '', ...others] = key;
  const isLog = table === syncRuns || table === syncStreamRuns;
  return {
    ...tableSql,
    numbered: kinds.get(first) === 'integer' && others.length === 0 ? first : null,
    isOrdered: key.length === 0,
    // A run changes the log of several environments.
    hasEnvironments: kinds.has('env_id') && !isLog,
    isLog,
    hasTombstones: kinds.has('deleted_at'),
    parentLinks: parentLinksOf(tableSql.name),
    isStamped: MIRRORED_TABLES.includes(table) && kinds.has('env_id') && kinds.has('mirrored_at'),
  };
}

/**
 * A replacement of edges stamps their downstream columns. A column that is deleted takes the edges on both sides with
 * it, and the stream that reads edges again, which would stamp the other column, may be switched off (R18).
 */
function parentLinksOf(name: string): ParentLink[] {
  const { parentTable, staged, key = [] } = CATALOGUE.find(({ table }) => table === name) ?? {};
  if (parentTable === undefined || staged === undefined) return [];
  return key.map((column, at) => ({ column, parent: tableSqlOf(parentTable.table).name, isGone: at > 0 }));
}
