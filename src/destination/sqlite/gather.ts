import type { Database } from 'better-sqlite3';
import { type Decoded, joinKey } from '../../core/decode.ts';
import type { Commit } from '../../core/destination.ts';
import { differenceOf } from '../../core/difference.ts';
import type { Stream } from '../../core/stream.ts';
import { upsert } from './bulk-upsert.ts';
import { isOf, tableOf } from './conditions.ts';
import { heldRows } from './held-rows.ts';
import { openMissing } from './missing.ts';
import { rows, run, value, type Writing } from './part.ts';
import { keysAsJson, openSeen, see } from './seen.ts';
import { nameOf, quote } from './shape.ts';

/** Which keys are seen and gathered, of a connection alone; those gathered are filled from the staged tables when first asked. */
export function openGathering(connection: Database): void {
  openSeen(connection);
  openMissing(connection);
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
export function gather(
  writing: Writing,
  stream: Stream,
  { rows: shown, readNumber }: NonNullable<Commit['staged']>,
  isCompared: boolean,
): readonly Decoded[] {
  const gathered = isCompared ? changed(writing, stream, shown) : shown;
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
  if (isCompared) see(writing, stream, { keys: shown.map(({ key }) => key), readNumber });
  return gathered;
}

function changed(writing: Writing, stream: Stream, shown: readonly Decoded[]): readonly Decoded[] {
  const held = heldRows(
    writing,
    stream,
    shown.map(({ key }) => key),
  );
  const apart = shown.filter((row) => differenceOf(stream, held.get(joinKey(row.key)), row, 'rows') !== null);
  const before = gatheredAmong(writing, stream, shown);
  noteGathered(writing, stream, apart);
  const kept = new Set([...before, ...apart.map(({ key }) => joinKey(key))]);
  return shown.filter(({ key }) => kept.has(joinKey(key)));
}

/** Which of the keys shown the round has gathered before, joined. */
function gatheredAmong(writing: Writing, stream: Stream, shown: readonly Decoded[]): readonly string[] {
  const own = `gathered_keys as g where ${isOf(stream, 'g')}`;
  bringGathered(writing, stream);
  if (value(writing, `select 1 from ${own} limit 1`) === undefined) return [];
  const among = `(g.key_1, g.key_2) in (select value ->> 0, value ->> 1 from json_each(@keys))`;
  const found = rows(writing, `select g.key_1, g.key_2 from ${own} and ${among}`, { keys: bothParts(shown) });
  return found.map((row) => joinKey([row['key_1'], row['key_2']].slice(0, stream.key.length).map(String)));
}

/** What an earlier process has gathered, once: the staged tables have no key, and hold what other environments gather, too. */
function bringGathered(writing: Writing, stream: Stream): void {
  const known = `select 1 from gathered_brought b where ${isOf(stream, 'b')}`;
  if (value(writing, known) !== undefined) return;
  run(writing, `insert into gathered_brought values (@env, '${stream.name}')`);
  const [first = '', second = `''`] = stream.key.map((name) => `s.${quote(name)}`);
  const sql = `insert or ignore into gathered_keys
    select s.env_id, '${stream.name}', ${first}, ${second} from ${nameOf(stream.staged)} s where s.env_id = @env`;
  run(writing, sql);
}

function noteGathered(writing: Writing, stream: Stream, gathered: readonly Decoded[]): void {
  if (gathered.length === 0) return;
  const sql = `insert or ignore into gathered_keys
    select @env, '${stream.name}', value ->> 0, value ->> 1 from json_each(@keys)`;
  run(writing, sql, { keys: bothParts(gathered) });
}

function bothParts(shown: readonly Decoded[]): string {
  return keysAsJson(shown.map(({ key }) => key));
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
