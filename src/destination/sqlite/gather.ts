import type { Database } from 'better-sqlite3';
import { type Decoded, joinKey } from '../../core/decode.ts';
import type { Commit } from '../../core/destination.ts';
import { differenceOf } from '../../core/difference.ts';
import type { Stream } from '../../core/stream.ts';
import { upsert } from './bulk-upsert.ts';
import { isOf, tableOf } from './conditions.ts';
import { heldRows } from './held-rows.ts';
import { column, run, value, type Writing } from './part.ts';
import { see } from './seen.ts';
import { nameOf } from './shape.ts';

/** Which keys are gathered, of a connection alone, filled from the staged tables when first asked. */
export function openGathered(connection: Database): void {
  connection.exec(`create temp table gathered_keys (env_id text, stream text, key text,
    primary key (env_id, stream, key)) without rowid`);
  connection.exec(
    'create temp table gathered_brought (env_id text, stream text, primary key (env_id, stream)) without rowid',
  );
}

/**
 * Gathers rows, and those of their parts, beside their tables (R16). A row that the table has as shown is only seen, unless the
 * round has gathered another version of it: what is shown last counts.
 */
export function gather(
  writing: Writing,
  stream: Stream,
  { rows, readNumber }: NonNullable<Commit['staged']>,
  isCompared: boolean,
): void {
  const gathered = isCompared ? changed(writing, stream, rows) : rows;
  const way = { conflict: 'append', added: { read_number: readNumber } } as const;
  upsert(
    writing,
    stream.staged,
    gathered.map((row) => row.row),
    way,
  );
  stream.parts?.forEach((part, i) => {
    const parts = gathered.flatMap((row) => row.parts[i] ?? []);
    upsert(writing, part.staged, parts, way);
  });
  // What is compared with nothing can find nothing missing.
  if (isCompared) see(writing, stream, { keys: rows.map(({ key }) => key), readNumber });
}

function changed(writing: Writing, stream: Stream, shown: readonly Decoded[]): readonly Decoded[] {
  const held = heldRows(
    writing,
    stream,
    shown.map(({ key }) => key),
  );
  const apart = new Set<string>();
  for (const row of shown) {
    const joined = joinKey(row.key);
    if (differenceOf(stream, held.get(joined), row, 'rows') !== null) apart.add(joined);
  }
  const before = gatheredAmong(writing, stream, shown);
  if (apart.size > 0) noteGathered(writing, stream, [...apart]);
  return shown.filter(({ key }) => apart.has(joinKey(key)) || before.has(joinKey(key)));
}

/** Which of the keys shown the round has gathered before. */
function gatheredAmong(writing: Writing, stream: Stream, shown: readonly Decoded[]): ReadonlySet<string> {
  const own = `gathered_keys as g where ${isOf(stream, 'g')}`;
  bringGathered(writing, stream);
  if (value(writing, `select 1 from ${own} limit 1`) === undefined) return new Set();
  const keys = JSON.stringify(shown.map(({ key }) => joinKey(key)));
  const found = column(writing, `select g.key from ${own} and g.key in (select value from json_each(@keys))`, { keys });
  return new Set(found as string[]);
}

/** What an earlier process has gathered, once: the staged tables have no key, and hold what other environments gather, too. */
function bringGathered(writing: Writing, stream: Stream): void {
  const known = `select 1 from gathered_brought b where ${isOf(stream, 'b')}`;
  if (value(writing, known) !== undefined) return;
  run(writing, `insert into gathered_brought values (@env, '${stream.name}')`);
  const [first = '', second] = stream.key.map((name) => `s."${name}"`);
  const joined = second === undefined ? first : `json_array(${first}, ${second})`;
  const sql = `insert or ignore into gathered_keys
    select s.env_id, '${stream.name}', ${joined} from ${nameOf(stream.staged)} s where s.env_id = @env`;
  run(writing, sql);
}

function noteGathered(writing: Writing, stream: Stream, keys: readonly string[]): void {
  const sql = `insert or ignore into gathered_keys select @env, '${stream.name}', value from json_each(@keys)`;
  run(writing, sql, { keys: JSON.stringify(keys) });
}

/** Drops what a read, or all of a round, gathered (R7). */
export function forgetGathered(writing: Writing, stream: Stream, which: number | 'all'): void {
  if (stream.staged === undefined) return;
  const only = which === 'all' ? '' : ' and x.read_number = @which';
  const staged = [stream.staged, ...(stream.parts ?? []).map((part) => part.staged)];
  for (const table of staged) run(writing, `delete from ${nameOf(table)} as x where x.env_id = @env${only}`, { which });
  for (const table of ['gathered_keys', 'gathered_brought'])
    run(writing, `delete from temp.${table} as g where ${isOf(stream, 'g')}`);
}

/** Whether the table holds anything that what is gathered could be compared with, or that could be missing. */
export function hasTable(writing: Writing, stream: Stream): boolean {
  return value(writing, `select 1 from ${tableOf(stream)} t where t.env_id = @env limit 1`) !== undefined;
}
