import type { Database } from 'better-sqlite3';
import { type DecodedRow, joinKey } from '../../core/decode.ts';
import type { PageCommit, RoundEnd } from '../../core/destination.ts';
import { differenceOf } from '../../core/difference.ts';
import type { Stream } from '../../core/stream.ts';
import { firstKey, isOf, isOwed, isSeenKey, mayGo, type SqlCondition, tableOf } from './conditions.ts';
import { existingWithChildren } from './lookups.ts';
import { findAnew, isMissing, keysAsJson, noteSeen, openSeen } from './seen-keys.ts';
import { type CommitScope, rows, run, type SqlValues, value } from './statements.ts';
import { differs, list, matches, nameOf, quote, replacing, tableSqlOf } from './tables.ts';
import { type ChangedRows, holdBack, holdOnly, upsert } from './write-rows.ts';

/** Which keys are seen and gathered, of a connection alone; those gathered are filled from the staged tables when first asked. */
export function openStaging(connection: Database): void {
  openSeen(connection);
  connection.exec(`create temp table gathered_keys (env_id text, stream text, key_1 text, key_2 text,
    primary key (env_id, stream, key_1, key_2)) without rowid`);
  connection.exec(
    'create temp table gathered_brought (env_id text, stream text, primary key (env_id, stream)) without rowid',
  );
}

/**
 * Gathers rows, and those of their parts, beside their tables (R16). A row that the table has as shown is only seen, unless the
 * round has gathered another version of it: what is shown last counts.
 * @returns the rows gathered
 */
export function stage(
  commitScope: CommitScope,
  stream: Stream,
  { rows: shown, readNumber }: NonNullable<PageCommit['staged']>,
  isCompared: boolean,
): readonly DecodedRow[] {
  const gathered = isCompared ? changed(commitScope, stream, shown) : shown;
  const way = { conflict: 'append', added: { read_number: readNumber } } as const;
  upsert(
    commitScope,
    stream.staged,
    gathered.map((row) => row.row),
    way,
  );
  stream.childTables?.forEach((part, i) => {
    const parts = gathered.flatMap((row) => row.parts[i] ?? []);
    upsert(commitScope, part.staged, parts, way);
  });
  // What is compared with nothing can find nothing missing.
  if (isCompared) noteSeen(commitScope, stream, { keys: shown.map(({ key }) => key), readNumber });
  return gathered;
}

function changed(commitScope: CommitScope, stream: Stream, shown: readonly DecodedRow[]): readonly DecodedRow[] {
  const held = existingWithChildren(
    commitScope,
    stream,
    shown.map(({ key }) => key),
  );
  const apart = shown.filter((row) => differenceOf(stream, held.get(joinKey(row.key)), row, 'rows') !== null);
  const before = stagedAmong(commitScope, stream, shown);
  noteStaged(commitScope, stream, apart);
  const kept = new Set([...before, ...apart.map(({ key }) => joinKey(key))]);
  return shown.filter(({ key }) => kept.has(joinKey(key)));
}

/** Which of the keys shown the round has gathered before, joined. */
function stagedAmong(commitScope: CommitScope, stream: Stream, shown: readonly DecodedRow[]): readonly string[] {
  const own = `gathered_keys as g where ${isOf(stream, 'g')}`;
  loadStagedKeys(commitScope, stream);
  if (value(commitScope, `select 1 from ${own} limit 1`) === undefined) return [];
  const among = `(g.key_1, g.key_2) in (select value ->> 0, value ->> 1 from json_each(@keys))`;
  const found = rows(commitScope, `select g.key_1, g.key_2 from ${own} and ${among}`, { keys: bothParts(shown) });
  return found.map((row) => joinKey([row['key_1'], row['key_2']].slice(0, stream.key.length).map(String)));
}

/** What an earlier process has gathered, once: the staged tables have no key, and hold what other environments gather, too. */
function loadStagedKeys(commitScope: CommitScope, stream: Stream): void {
  const known = `select 1 from gathered_brought b where ${isOf(stream, 'b')}`;
  if (value(commitScope, known) !== undefined) return;
  run(commitScope, `insert into gathered_brought values (@env, '${stream.name}')`);
  const [first = '', second = `''`] = stream.key.map((name) => `s.${quote(name)}`);
  const sql = `insert or ignore into gathered_keys
    select s.env_id, '${stream.name}', ${first}, ${second} from ${nameOf(stream.staged)} s where s.env_id = @env`;
  run(commitScope, sql);
}

function noteStaged(commitScope: CommitScope, stream: Stream, gathered: readonly DecodedRow[]): void {
  if (gathered.length === 0) return;
  const sql = `insert or ignore into gathered_keys
    select @env, '${stream.name}', value ->> 0, value ->> 1 from json_each(@keys)`;
  run(commitScope, sql, { keys: bothParts(gathered) });
}

function bothParts(shown: readonly DecodedRow[]): string {
  return keysAsJson(shown.map(({ key }) => key));
}

/** Drops what a read, or all of a round, gathered (R7). */
export function forgetStaged(commitScope: CommitScope, stream: Stream, which: number | 'all'): void {
  if (stream.staged === undefined) return;
  const only = which === 'all' ? '' : ' and x.read_number = @which';
  const staged = [stream.staged, ...(stream.childTables ?? []).map((part) => part.staged)];
  for (const table of staged)
    run(commitScope, `delete from ${nameOf(table)} as x where x.env_id = @env${only}`, { which });
  for (const table of ['gathered_keys', 'gathered_brought'])
    run(commitScope, `delete from temp.${table} as g where ${isOf(stream, 'g')}`);
}

/** Whether the table holds anything that what is gathered could be compared with, or that could be missing. */
export function hasTable(commitScope: CommitScope, stream: Stream): boolean {
  return value(commitScope, `select 1 from ${tableOf(stream)} t where t.env_id = @env limit 1`) !== undefined;
}

interface TableReplacement {
  readonly scope: ReplacementScope;
  readonly hold: boolean;
  /** The marks that are paid, the run of the round, and the last row that may go. */
  readonly values: { readonly lastMark: number; readonly run: number; readonly through: string | null };
}

/** Puts what was gathered in place of what was there: only rows that differ are written (R16). */
export function replace(
  commitScope: CommitScope,
  stream: Stream,
  { scope, hold, values }: TableReplacement,
): ChangedRows {
  const gone = toDelete(stream, scope);
  if (hold) holdBack(commitScope, stream, { sql: gone, values, at: commitScope.mirroredAt });
  const deleted = drop(commitScope, stream, { sql: `${gone} and ${mayGo(stream)}`, values });
  dropChildRows(commitScope, stream);
  const pairs: StagedTable[] = [stream, ...(stream.childTables ?? [])];
  const written = pairs.reduce(
    (sum, pair) => sum + put(commitScope, pair, { sql: toWrite(stream, pair, scope), values }),
    0,
  );
  touchWritten(commitScope, stream, { scope, values });
  // What the read showed again is held back no more, nor what is no longer there (R14).
  holdOnly(commitScope, stream, { sql: `(not (${inScope(stream, scope, 't')}) or (${gone}))`, values });
  findAnew(commitScope, stream);
  return { written, deleted };
}

/** Removes rows of the table. */
export function drop(commitScope: CommitScope, stream: Stream, { sql, values = {} }: SqlCondition): number {
  const rows = `${tableOf(stream)} as t where t.env_id = @env and ${sql}`;
  touchParents(commitScope, stream, { sql: `select t.${firstKey(stream)} from ${rows}`, values });
  return run(commitScope, `delete from ${rows}`, values);
}

/**
 * No other commit shares its time with this one: what bears it was written by this one. The rows lie in the order of their
 * key, and `>= ''` has SQLite go along that.
 */
function touchWritten(
  commitScope: CommitScope,
  stream: Stream,
  { scope, values }: { scope: ReplacementScope; values: SqlValues },
): void {
  const sql = `select t.${firstKey(stream)} from ${tableOf(stream)} t
    where t.env_id = @env and t.${firstKey(stream)} >= '' and ${inScope(stream, scope, 't')} and t.mirrored_at = @mirroredAt`;
  touchParents(commitScope, stream, { sql, values });
}

/** The columns whose edges differ, as a select gives them, move along: their `mirrored_at` says so (R21). */
function touchParents(commitScope: CommitScope, stream: Stream, { sql, values = {} }: SqlCondition): void {
  if (stream.parentTable === undefined) return;
  run(
    commitScope,
    `update ${nameOf(stream.parentTable.table)} set mirrored_at = @mirroredAt
      where env_id = @env and deleted_at is null and mirrored_at <> @mirroredAt and id in (${sql})`,
    { ...values, mirroredAt: commitScope.mirroredAt },
  );
}

function put(commitScope: CommitScope, { table }: StagedTable, { sql, values }: SqlCondition): number {
  const shape = tableSqlOf(table);
  const selected = shape.columns.map((name) => (name === 'mirrored_at' ? '@mirroredAt' : `s.${quote(name)}`));
  return run(
    commitScope,
    `insert into ${quote(shape.name)} (${list(shape.columns)}) select ${selected.join(', ')} ${sql} ${replacing(shape)}`,
    { ...values, mirroredAt: commitScope.mirroredAt },
  );
}

/** A part goes with the row it belongs to, or when that is gathered without it. */
function dropChildRows(commitScope: CommitScope, stream: Stream): void {
  const gathered = `t.${firstKey(stream)} in (select s.${firstKey(stream)} from ${nameOf(stream.staged)} s where s.env_id = @env)`;
  for (const { table, staged, key } of stream.childTables ?? []) {
    const kept = `(${list(key, 't.')}) in (select ${list(key, 's.')} from ${nameOf(staged)} s where s.env_id = @env)`;
    const gone = `((${isMissing(stream)}) or ${gathered}) and not ${kept}`;
    run(commitScope, `delete from ${nameOf(table)} as t where t.env_id = @env and ${gone}`);
  }
}

/** What is replaced: the whole table, or the edges of columns marked up to `@lastMark` (R18). */
export type ReplacementScope = NonNullable<RoundEnd['replace']>;

/** A table with the one it is gathered in. */
interface StagedTable {
  readonly table: string;
  readonly staged?: string;
}

/**
 * The condition that row `t` is to go: of those in scope, one not seen. A rejected row was seen and stays, and so do those
 * after `@through`, which were not asked for (R12), and what a mark that was left speaks of (R18).
 */
export function toDelete(stream: Stream, replacementScope: ReplacementScope): string {
  const left = `exists (select 1 from marks w where ${isOf(stream, 'w')} and w.id = t.${firstKey(stream)} and not ${isOwed('w')})`;
  const unseen =
    replacementScope === 'all'
      ? isMissing(stream)
      : `${inScope(stream, replacementScope, 't')} and not ${isSeenKey(stream)}`;
  return `${unseen}
    and (@through is null or t.${firstKey(stream)} <= @through) and not ${left}`;
}

/** The gathered rows `s` that are new or differ, each as it was gathered last, in the order of the table; `from … where …`. */
function toWrite(stream: Stream, { table, staged }: StagedTable, replacementScope: ReplacementScope): string {
  const shape = tableSqlOf(table);
  const { key } = shape;
  // With max() SQLite takes the other columns from the row that has it.
  const last = `select *, max(g.rowid) from ${nameOf(staged)} g
    where g.env_id = @env and ${inScope(stream, replacementScope, 'g')} group by ${list(key, 'g.')}`;
  return `from (${last}) s left join ${nameOf(table)} t on ${matches('t', 's', key)}
    where (t.${quote(key[1] as string)} is null or ${differs('t', 's', shape)}) and ${isParentLive(stream)}`;
}

/** The condition that a replacement may touch a row. The marks lead to it: their rows are few, the others many. */
function inScope(stream: Stream, replacementScope: ReplacementScope, alias: string): string {
  if (replacementScope === 'all') return 'true';
  const marked = `select m.id from marks m where ${isOf(stream, 'm')} and m.number <= @lastMark`;
  return `${alias}.${firstKey(stream)} in (${marked})`;
}

/** Edges are kept only of columns held live (R18). */
function isParentLive(stream: Stream): string {
  if (stream.parentTable === undefined) return 'true';
  return `exists (select 1 from ${nameOf(stream.parentTable.table)} l
    where l.env_id = s.env_id and l.id = s.${firstKey(stream)} and l.deleted_at is null)`;
}
