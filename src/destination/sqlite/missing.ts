import type { Database } from 'better-sqlite3';
import type { Stream } from '../../core/stream.ts';
import { isOf, isSeenKey, live, tableOf } from './conditions.ts';
import { type MirrorScope, run, value } from './mirror-scope.ts';
import { loadSeenKeys } from './seen.ts';
import { list, nameOf, quote } from './table-sql.ts';

/** The keys of rows that no read of a round has seen: of a connection alone, found when something asks (`findMissing`). */
export function openMissing(connection: Database): void {
  connection.exec(`create temp table missing_keys (env_id text, stream text, key_1 text, key_2 text,
    primary key (env_id, stream, key_1, key_2)) without rowid`);
  connection.exec(
    'create temp table missing_found (env_id text, stream text, primary key (env_id, stream)) without rowid',
  );
}

/**
 * Finds in one pass over its table the live rows that the stream's round has not seen, and parts left without their row: from now on
 * SQL may ask `missing_keys`. What is seen afterwards may still stand there; what is written afterwards has it found anew.
 */
export function findMissing(mirrorScope: MirrorScope, stream: Stream): void {
  loadSeenKeys(mirrorScope, stream);
  if (value(mirrorScope, `select 1 from missing_found f where ${isOf(stream, 'f')}`) !== undefined) return;
  run(mirrorScope, `insert into missing_found values (@env, '${stream.name}')`);
  // In the order of the keys: both tables are gone through from end to end. Nearly every row is seen: that comes first, and decides.
  const keys = list(stream.key, 't.');
  const rest = (from: string, isMeant: string): string => `insert or ignore into missing_keys
    select @env, '${stream.name}', ${keys}${stream.key.length === 1 ? ", ''" : ''} from ${from} t
    where t.env_id = @env and case when ${isSeenKey(stream)} then false else ${isMeant} end
    order by ${keys}`;
  run(mirrorScope, rest(tableOf(stream), live(stream)));
  for (const { table } of stream.childTables ?? []) run(mirrorScope, rest(nameOf(table), 'true'));
}

/** The condition that row `t` is missing. Whoever asks has called `findMissing`. */
export function isMissing(stream: Stream): string {
  const keys = stream.key.map((_, i) => `m.key_${i + 1}`).join(', ');
  const own = stream.key.map((name) => `t.${quote(name)}`).join(', ');
  return `(${own}) in (select ${keys} from missing_keys m where ${isOf(stream, 'm')}) and not ${isSeenKey(stream)}`;
}
