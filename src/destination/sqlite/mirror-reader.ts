import { loadCheckpoints } from '../../../state/checkpoint-store.ts';
import { joinKey } from '../../core/decode/decode.ts';
import type { MirrorReader, RowKey, RowKeys, TableFilter, TableGroup } from '../../core/ports/mirror-reader.ts';
import type { Stream, StreamName } from '../../core/stream.ts';
import { countTable, existingWithChildren, liveRows } from '../sql/lookups.ts';
import { findMissing, forgetSeen, noteSeen, whereMissing, writeNoted } from '../sql/seen-keys.ts';
import { column, execute, type MirrorScope, rows, type SqlStatements } from '../sql/statements.ts';
import { list, nameOf, quote } from '../sql/tables.ts';
import { portMethods, sqliteScope } from './driver.ts';
import type { MirrorFile } from './open.ts';
import { createWorkTables } from './temporary-tables.ts';

/** One environment's part of a mirror that is open for reading only (see `createScratchTables`). */
export function createMirrorReader(mirror: MirrorFile, envId: string): MirrorReader {
  const scope = sqliteScope(mirror, envId);
  const asking = portMethods(mirror);
  return {
    checkpoints: asking(() => loadCheckpoints(envId)),
    existing: asking((stream, keys) => existingWithChildren(scope, stream, keys)),
    recordSeen: asking(function* (stream, keys) {
      noteSeen(scope, stream, { keys, readNumber: 1 });
      yield* writeNoted(mirror.noted);
    }),
    forget: asking((stream) => forgetSeen(scope, stream, 'all')),
    unseenKeys: asking((stream, from, within) => unseenKeys(scope, stream, { ...from, within: within ?? {} })),
    recordPending: asking((what, stream, ids) =>
      execute(scope, RECORD_PENDING, { stream, what, ids: JSON.stringify(ids) }),
    ),
    recordFeedTime: asking((stream, dated) =>
      execute(scope, RECORD_FEED_TIME, { stream, rows: JSON.stringify(dated) }),
    ),
    feedTimes: asking(function* (stream, ids) {
      const found = yield* rows(scope, FEED_TIMES, { stream, ids: JSON.stringify(ids) });
      return new Map(found.map(({ id, at }) => [String(id), String(at)]));
    }),
    pendingIds: asking((what, stream, ids) => idsAmong(scope, PENDING, { stream, what, ids })),
    marked: asking((stream, ids) => idsAmong(scope, MARKED, { stream, what: 'marked', ids })),
    heldRemovals: asking(function* (stream, keys) {
      const found = yield* rows(scope, HELD_REMOVALS, { stream, ids: JSON.stringify(keys.map(([first]) => first)) });
      const held = found.map(({ key_1: first, key_2: second }) => (second === '' ? [first] : [first, second]));
      return new Set(held.map((key) => joinKey(key.map(String))));
    }),
    count: asking((stream, within) => countTable(scope, stream, within)),
    groups: asking((stream, field, within) => groups(scope, stream, { field, within })),
  };
}

/** Hides tables behind temporary ones for the keys that the source returns: the file stays, and memory is spared. */
export function createScratchTables({ connection }: MirrorFile): void {
  // Half of the default, because memory is limited.
  connection.pragma('cache_size = -8000');
  connection.exec(`create temp table seen_pages (id integer primary key, env_id text, stream text, read_number integer,
    keys text)`);
  createWorkTables(connection);
  connection.exec(`create temp table expected (env_id text, stream text, what text, id text,
    primary key (env_id, stream, what, id)) without rowid`);
  connection.exec(`create temp table dated (env_id text, stream text, id text, at text,
    primary key (env_id, stream, id)) without rowid`);
}

const AMONG_IDS = 'in (select value from json_each(@ids))';

const RECORD_PENDING = `insert into expected select @env, @stream, @what, value from json_each(@ids) where true
  on conflict do nothing`;

const RECORD_FEED_TIME = `insert into dated select @env, @stream, value ->> 'id', value ->> 'at' from json_each(@rows)
  where true on conflict do update set at = max(at, excluded.at)`;

const FEED_TIMES = `select id, at from dated where env_id = @env and stream = @stream and id ${AMONG_IDS}`;

const PENDING = `select id from expected where env_id = @env and stream = @stream and what = @what and id ${AMONG_IDS}`;

const MARKED = `${PENDING} union select id from marks where env_id = @env and stream = @stream and id ${AMONG_IDS}`;

const HELD_REMOVALS = `select key_1, key_2 from held_removals
  where env_id = @env and stream = @stream and key_1 ${AMONG_IDS}`;

function* unseenKeys(
  scope: MirrorScope,
  stream: Stream,
  { after, limit, within }: { after: RowKey | null; limit: number; within: TableFilter },
): SqlStatements<RowKeys> {
  yield* findMissing(scope, stream);
  const beyond =
    after === null ? '' : ` and (${list(stream.key, 't.')}) > (${stream.key.map((name) => `@${name}`).join(', ')})`;
  // A child row may exist without its row.
  const alone = (stream.childTables ?? []).map(
    ({ table }) =>
      `select ${list(stream.key, 't.')} from ${nameOf(table)} t where t.env_id = @env and ${whereMissing(stream)}${beyond}`,
  );
  const own = `select ${list(stream.key, 't.')} ${liveRows(stream, within)} and ${whereMissing(stream)}${beyond}`;
  const order = stream.key.map((_, i) => i + 1).join(', ');
  const found = yield* rows(scope, `${[own, ...alone].join(' union ')} order by ${order} limit @limit`, {
    ...within,
    ...Object.fromEntries(stream.key.map((name, i) => [name, after?.[i] ?? ''])),
    limit,
  });
  return found.map((row) => stream.key.map((name) => String(row[name])));
}

function* idsAmong(
  scope: MirrorScope,
  sql: string,
  { ids, ...values }: { stream: StreamName; what: string; ids: readonly string[] },
): SqlStatements<ReadonlySet<string>> {
  const found = yield* column(scope, sql, { ...values, ids: JSON.stringify(ids) });
  return new Set(found.map(String));
}

function* groups(
  scope: MirrorScope,
  stream: Stream,
  { field, within }: { field: keyof TableFilter; within: TableFilter },
): SqlStatements<TableGroup[]> {
  const name = `t.${quote(field)}`;
  const sql = `select ${name} value, count(*) "rows" ${liveRows(stream, within)} and ${name} is not null group by 1 order by 1`;
  return (yield* rows(scope, sql, within)) as unknown as TableGroup[];
}
