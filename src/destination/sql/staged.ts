import { differenceOf } from '../../core/decide/difference.ts';
import { type DecodedRow, joinKey } from '../../core/decode/decode.ts';
import type { PageCommit, RoundEnd } from '../../core/ports/destination.ts';
import type { Stream } from '../../core/stream.ts';
import {
  firstKey,
  fromClock,
  type SqlCondition,
  tableOf,
  whereRemovable,
  whereSeenKey,
  whereStream,
  whereUncleared,
} from './conditions.ts';
import { replacing, whereDiffers } from './conflicts.ts';
import { existingWithChildren } from './lookups.ts';
import { invalidateMissing, keysAsJson, noteSeen, type WorkTables, whereMissing } from './seen-keys.ts';
import { type CommitScope, execute, rows, run, type SqlStatements, type SqlValues } from './statements.ts';
import { list, matches, nameOf, quote, tableSqlOf } from './tables.ts';
import { type ChangedRows, holdBack, pruneHeldRemovals, recordRemoval, upsert } from './write-rows.ts';

/**
 * Stages rows and their child rows next to their tables (R16). A row that equals the table's is only recorded as seen,
 * unless the round has staged another version of it: the last version returned counts.
 * @returns the staged rows
 */
export function* stage(
  scope: CommitScope,
  { rows: shown, readNumber }: NonNullable<PageCommit['staged']>,
  isCompared: boolean,
): SqlStatements<readonly DecodedRow[]> {
  const { stream } = scope;
  const staged = isCompared ? yield* changed(scope, shown) : shown;
  const way = { conflict: 'append', added: { read_number: readNumber } } as const;
  const own = staged.map(({ row }) => row);
  yield* upsert(scope, stream.staged, own, way);
  for (const [i, part] of (stream.childTables ?? []).entries()) {
    const parts = staged.flatMap((row) => row.parts[i] ?? []);
    yield* upsert(scope, part.staged, parts, way);
  }
  // If the table is empty, no row can be missing.
  if (isCompared) noteSeen(scope, stream, { keys: shown.map(({ key }) => key), readNumber });
  return staged;
}

function* changed(scope: CommitScope, shown: readonly DecodedRow[]): SqlStatements<readonly DecodedRow[]> {
  if (shown.length === 0) return [];
  const { stream } = scope;
  const keys = shown.map(({ key }) => key);
  const held = yield* existingWithChildren(scope, stream, keys);
  const apart = shown.filter((row) => differenceOf(stream, held.get(joinKey(row.key)), row, 'rows') !== null);
  const before = yield* stagedAmong(scope, keys, apart.length > 0);
  yield* noteStaged(scope, apart);
  const kept = new Set([...before, ...apart.map(({ key }) => joinKey(key))]);
  return shown.filter(({ key }) => kept.has(joinKey(key)));
}

/**
 * Which of the returned keys the round has already staged, joined. It loads the staged keys if there are any, or if
 * more are to be noted.
 */
function* stagedAmong(
  scope: CommitScope,
  keys: readonly DecodedRow['key'][],
  isNoting: boolean,
): SqlStatements<readonly string[]> {
  const { stream } = scope;
  const own = `staged_keys g where ${whereStream(stream, 'g')}`;
  const [known = {}] = yield* rows(
    scope,
    `select exists (select 1 from staged_loaded b where ${whereStream(stream, 'b')}) is_loaded,
      exists (select 1 from ${own}) has_keys,
      exists (select 1 from ${nameOf(stream.staged)} s where s.env_id = @env) has_rows`,
  );
  const isLoaded = known['is_loaded'] === 1;
  const hasAny = known[isLoaded ? 'has_keys' : 'has_rows'] === 1;
  if (!isLoaded && (hasAny || isNoting)) yield* loadStagedKeys(scope);
  if (!hasAny) return [];
  const among = `(g.key_1, g.key_2) in (select value ->> 0, value ->> 1 from ${scope.dialect.arrays('@keys')})`;
  const found = yield* rows(scope, `select g.key_1, g.key_2 from ${own} and ${among}`, { keys: keysAsJson(keys) });
  return found.map((row) => joinKey([row['key_1'], row['key_2']].slice(0, stream.key.length).map(String)));
}

/** Loads the keys that an earlier process staged, once: the tables have no key and hold all environments' rows. */
function* loadStagedKeys(scope: CommitScope): SqlStatements<void> {
  const { stream } = scope;
  yield* execute(scope, `insert into staged_loaded values (@env, '${stream.name}')`);
  const [first = '', second = `''`] = stream.key.map((name) => `s.${quote(name)}`);
  const sql = `insert into staged_keys
    select s.env_id, '${stream.name}', ${first}, ${second} from ${nameOf(stream.staged)} s where s.env_id = @env
    on conflict do nothing`;
  yield* execute(scope, sql);
}

function* noteStaged(scope: CommitScope, staged: readonly DecodedRow[]): SqlStatements<void> {
  if (staged.length === 0) return;
  const sql = `insert into staged_keys
    select c.env_id, '${scope.stream.name}', value ->> 0, value ->> 1 from ${fromClock(scope.dialect.arrays('@keys'))}
    on conflict do nothing`;
  yield* execute(scope, sql, { keys: keysAsJson(staged.map(({ key }) => key)) });
}

/** Discards the rows that one read, or the whole round, staged (R7). */
export function* forgetStaged(scope: CommitScope, which: number | 'all'): SqlStatements<void> {
  const { stream } = scope;
  if (stream.staged === undefined) return;
  const only = which === 'all' ? '' : ' and x.read_number = @which';
  const staged = [stream.staged, ...(stream.childTables ?? []).map((part) => part.staged)];
  for (const table of staged)
    yield* execute(scope, `delete from ${nameOf(table)} as x where x.env_id = @env${only}`, { which });
  for (const table of ['staged_keys', 'staged_loaded'])
    yield* execute(scope, `delete from ${table} as g where ${whereStream(stream, 'g')}`);
}

/** Replaces rows of the table with the staged ones. Only rows that differ are written (R16). */
export function* replace(
  scope: CommitScope,
  replaced: ReplacedRows,
  { isHeld, values }: { readonly isHeld: boolean; readonly values: SqlValues },
  { hasMissing, hasStaged }: WorkTables,
): SqlStatements<ChangedRows> {
  const { stream } = scope;
  const inScope = whereInScope(stream, replaced, 't');
  const gone = whereToDelete(stream, replaced);
  // A removal is no longer held back if the read returned the row again, or if the row is gone (R14).
  const kept = { sql: `(not (${inScope}) or (${gone}))`, values };
  if (replaced === 'all' && !hasMissing && !hasStaged) {
    yield* pruneHeldRemovals(scope, kept);
    return { written: 0, deleted: 0 };
  }
  if (isHeld) yield* holdBack(scope, { sql: gone, values, at: scope.mirroredAt });
  const first = `t.${firstKey(stream)}`;
  const dropped = `${tableOf(stream)} as t where t.env_id = @env and ${gone} and ${whereRemovable(stream)}`;
  yield* touchParents(scope, { sql: `select ${first} from ${dropped}`, values });
  const deleted = yield* run(scope, `delete from ${dropped}`, values);
  if (deleted + (yield* dropChildRows(scope)) > 0) yield* recordRemoval(scope);
  let written = 0;
  for (const pair of [stream, ...(stream.childTables ?? [])])
    written += yield* put(scope, pair, { sql: fromStaged(scope, pair, replaced), values });
  // No other commit has its time. `>= ''` makes SQLite read in key order.
  const sql = `select ${first} from ${tableOf(stream)} t
    where t.env_id = @env and ${first} >= '' and ${inScope} and t.mirrored_at = @mirroredAt`;
  yield* touchParents(scope, { sql, values });
  yield* pruneHeldRemovals(scope, kept);
  yield* invalidateMissing(scope, stream);
  return { written, deleted };
}

/** Sets `mirrored_at` of the selected columns, because their edges have changed (R21). */
function* touchParents(scope: CommitScope, { sql, values }: SqlCondition): SqlStatements<void> {
  const { parentTable } = scope.stream;
  if (parentTable === undefined) return;
  const touch = `update ${nameOf(parentTable.table)} set mirrored_at = @mirroredAt
    where env_id = @env and deleted_at is null and mirrored_at <> @mirroredAt and id in (${sql})`;
  yield* execute(scope, touch, { ...values, mirroredAt: scope.mirroredAt });
}

function* put(scope: CommitScope, { table }: StagedTable, { sql, values }: SqlCondition): SqlStatements<number> {
  const shape = tableSqlOf(table);
  const selected = shape.columns.map((name) => (name === 'mirrored_at' ? '@mirroredAt' : `s.${quote(name)}`));
  const insert = `insert into ${quote(shape.name)} (${list(shape.columns)})
    select ${selected.join(', ')} ${sql} ${replacing(scope.dialect, shape)}`;
  return yield* run(scope, insert, { ...values, mirroredAt: scope.mirroredAt });
}

/** Deletes child rows whose row is missing, or is staged without them. @returns how many */
function* dropChildRows(scope: CommitScope): SqlStatements<number> {
  const { stream } = scope;
  let deleted = 0;
  const whereStaged = `t.${firstKey(stream)} in (select s.${firstKey(stream)} from ${nameOf(stream.staged)} s where s.env_id = @env)`;
  for (const { table, staged, key } of stream.childTables ?? []) {
    const kept = `(${list(key, 't.')}) in (select ${list(key, 's.')} from ${nameOf(staged)} s where s.env_id = @env)`;
    const gone = `((${whereMissing(stream)}) or ${whereStaged}) and not ${kept}`;
    deleted += yield* run(scope, `delete from ${nameOf(table)} as t where t.env_id = @env and ${gone}`);
  }
  return deleted;
}

/** What is replaced: the whole table, or the edges of the columns marked up to `@lastMark` (R18). */
type ReplacedRows = NonNullable<RoundEnd['replace']>;

type StagedTable = Pick<Stream, 'table' | 'staged'>;

/**
 * The condition that row `t` is to be deleted: it is in scope and was not seen. Rejected rows stay because they count
 * as seen; so do rows after `@through`, which were not looked up (R12), and rows whose mark was left to a later run
 * (R18).
 */
export function whereToDelete(stream: Stream, replaced: ReplacedRows): string {
  const left = `exists (select 1 from marks w where ${whereStream(stream, 'w')} and w.id = t.${firstKey(stream)} and not ${whereUncleared('w')})`;
  const unseen =
    replaced === 'all'
      ? whereMissing(stream)
      : `${whereInScope(stream, replaced, 't')} and not ${whereSeenKey(stream)}`;
  return `${unseen}
    and (cast(@through as text) is null or t.${firstKey(stream)} <= @through) and not ${left}`;
}

/** The staged rows `s` that are new or differ, each in the version staged last, in table order: `from … where …`. */
function fromStaged(scope: CommitScope, { table, staged = '' }: StagedTable, replaced: ReplacedRows): string {
  const { dialect, stream } = scope;
  const shape = tableSqlOf(table);
  const { key } = shape;
  const last = dialect.lastStaged(shape, staged, `g.env_id = @env and ${whereInScope(stream, replaced, 'g')}`);
  return `from (${last}) s left join ${nameOf(table)} t on t.env_id = @env and ${matches('t', 's', key.slice(1))}
    where (t.${quote(key[1] as string)} is null or ${whereDiffers(dialect, shape, 't', 's')}) and ${whereParentLive(stream)}`;
}

/** The condition that a replacement may change a row. It starts from the marks, because they are few. */
function whereInScope(stream: Stream, replaced: ReplacedRows, alias: string): string {
  if (replaced === 'all') return 'true';
  const marked = `select m.id from marks m where ${whereStream(stream, 'm')} and m.number <= @lastMark`;
  return `${alias}.${firstKey(stream)} in (${marked})`;
}

/** The condition that the column of a staged edge is live (R18). */
function whereParentLive(stream: Stream): string {
  if (stream.parentTable === undefined) return 'true';
  return `exists (select 1 from ${nameOf(stream.parentTable.table)} l
    where l.env_id = @env and l.id = s.${firstKey(stream)} and l.deleted_at is null)`;
}
