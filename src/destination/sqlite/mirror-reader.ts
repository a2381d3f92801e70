import { loadCheckpoint } from '../../../state/checkpoint-store.ts';
import { joinKey } from '../../core/decode.ts';
import type { MirrorReader, RowKey, RowKeys, TableFilter, TableGroup } from '../../core/mirror-reader.ts';
import type { Stream, StreamName } from '../../core/stream.ts';
import { facingFile } from './file-error.ts';
import { countRows, existingWithChildren, liveRows } from './lookups.ts';
import type { MirrorFile } from './open.ts';
import { findMissing, forgetSeen, isMissing, noteSeen, openSeen, writeNoted } from './seen-keys.ts';
import { column, type MirrorScope, partOf, rows, run } from './statements.ts';
import { list, nameOf, quote } from './tables.ts';

/** One environment's part of a mirror that is open for reading alone (see `noteApart`). */
export function createMirrorReader(mirror: MirrorFile, envId: string): MirrorReader {
  const part = partOf(mirror, envId);
  // What is noted bears no time, belongs to no run and marks nothing.
  const writing = { ...part, run: 0, mirroredAt: '', marking: new Set<never>() };
  const facing = facingFile(mirror.path);
  return {
    load: facing((stream) => loadCheckpoint(mirror.db, envId, stream)),
    existing: facing((stream, keys) => existingWithChildren(part, stream, keys)),
    recordSeen: facing((stream, keys) => {
      noteSeen(writing, stream, { keys, readNumber: 1 });
      writeNoted(mirror);
    }),
    forget: facing((stream) => forgetSeen(writing, stream, 'all')),
    unseenKeys: facing((stream, from, within) => {
      findMissing(part, stream);
      return unseenKeys(part, stream, { ...from, within: within ?? {} });
    }),
    recordPending: facing((what, stream, ids) => {
      const sql = `insert or ignore into expected select @env, @stream, @what, value from json_each(@ids)`;
      run(writing, sql, { stream, what, ids: JSON.stringify(ids) });
    }),
    recordFeedTime: facing((stream, dated) => {
      const sql = `insert into dated select @env, @stream, value ->> 'id', value ->> 'at' from json_each(@rows) where true
        on conflict do update set at = max(at, excluded.at)`;
      run(writing, sql, { stream, rows: JSON.stringify(dated) });
    }),
    feedTimes: facing((stream, ids) => {
      const sql = `select id, at from dated where env_id = @env and stream = @stream
        and id in (select value from json_each(@ids))`;
      const found = rows(part, sql, { stream, ids: JSON.stringify(ids) });
      return new Map(found.map(({ id, at }) => [String(id), String(at)]));
    }),
    pendingIds: facing((what, stream, ids) => among(part, EXPECTED, { stream, what, ids })),
    marked: facing((stream, ids) => {
      const ahead = among(part, EXPECTED, { stream, what: 'marked', ids });
      return new Set([...ahead, ...among(part, ['marks', 'id'], { stream, ids })]);
    }),
    heldRemovals: facing((stream, keys) => {
      const sql = `select key_1, key_2 from held_removals where env_id = @env and stream = @stream
        and key_1 in (select value from json_each(@ids))`;
      const found = rows(part, sql, { stream, ids: JSON.stringify(keys.map(([first]) => first)) });
      return new Set(
        found.map(({ key_1: first, key_2: second }) =>
          joinKey((second === '' ? [first] : [first, second]).map(String)),
        ),
      );
    }),
    count: facing((stream, within) => countRows(part, stream, within)),
    groups: facing((stream, field, within) => groups(part, stream, { field, within })),
  };
}

/**
 * Keys that the source shows are noted in a temporary table of the connection, which takes the place of the mirror's own: the
 * file stays as it is, a sync can go on beside, and a million keys take no memory.
 */
export function noteApart({ connection }: MirrorFile): void {
  // Half of what is usual: memory has a bound.
  connection.pragma('cache_size = -8000');
  connection.exec(
    `create temp table seen_pages (id integer primary key, env_id text, stream text, read_number integer, keys text)`,
  );
  openSeen(connection);
  connection.exec(`create temp table expected (env_id text, stream text, what text, id text,
    primary key (env_id, stream, what, id)) without rowid`);
  connection.exec(`create temp table dated (env_id text, stream text, id text, at text,
    primary key (env_id, stream, id)) without rowid`);
}

function unseenKeys(
  mirrorScope: MirrorScope,
  stream: Stream,
  { after, limit, within }: { after: RowKey | null; limit: number; within: TableFilter },
): RowKeys {
  const beyond =
    after === null ? '' : ` and (${list(stream.key, 't.')}) > (${stream.key.map((name) => `@${name}`).join(', ')})`;
  // A part may be left without the row it belongs to.
  const alone = (stream.childTables ?? []).map(
    ({ table }) =>
      `select ${list(stream.key, 't.')} from ${nameOf(table)} t where t.env_id = @env and ${isMissing(stream)}${beyond}`,
  );
  const own = `select ${list(stream.key, 't.')} ${liveRows(stream, within)} and ${isMissing(stream)}${beyond}`;
  const order = stream.key.map((_, i) => i + 1).join(', ');
  const found = rows(mirrorScope, `${[own, ...alone].join(' union ')} order by ${order} limit @limit`, {
    ...within,
    ...Object.fromEntries(stream.key.map((name, i) => [name, after?.[i] ?? ''])),
    limit,
  });
  return found.map((row) => stream.key.map((name) => String(row[name])));
}

const EXPECTED = ['expected', 'id', ' and what = @what'] as const;

function among(
  mirrorScope: MirrorScope,
  [table, name, only = '']: readonly [table: string, column: string, only?: string],
  { ids, ...values }: { stream: StreamName; what?: string; ids: readonly string[] },
): ReadonlySet<string> {
  const sql = `select ${name} from ${table} where env_id = @env and stream = @stream${only}
    and ${name} in (select value from json_each(@ids))`;
  return new Set(column(mirrorScope, sql, { ...values, ids: JSON.stringify(ids) }) as string[]);
}

function groups(
  mirrorScope: MirrorScope,
  stream: Stream,
  { field, within }: { field: keyof TableFilter; within: TableFilter },
): TableGroup[] {
  const name = `t.${quote(field)}`;
  const sql = `select ${name} value, count(*) "rows" ${liveRows(stream, within)} and ${name} is not null group by 1 order by 1`;
  return rows(mirrorScope, sql, within) as unknown as TableGroup[];
}
