import type { Database } from 'better-sqlite3';
import { type DecodedRow, joinKey } from '../../core/decode.ts';
import type { Commit } from '../../core/destination.ts';
import { differenceOf } from '../../core/difference.ts';
import type { Stream } from '../../core/stream.ts';
import { upsert } from './bulk-upsert.ts';
import { isOf, tableOf } from './conditions.ts';
import { existingWithChildren } from './existing-rows.ts';
import { type CommitScope, rows, run, value } from './mirror-scope.ts';
import { openMissing } from './missing.ts';
import { keysAsJson, noteSeen, openSeen } from './seen.ts';
import { nameOf, quote } from './table-sql.ts';

/** Which keys are seen and gathered, of a connection alone; those gathered are filled from the staged tables when first asked. */
export function openStaging(connection: Database): void {
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
export function stage(
  commitScope: CommitScope,
  stream: Stream,
  { rows: shown, readNumber }: NonNullable<Commit['staged']>,
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
