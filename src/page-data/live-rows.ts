import type { Stream } from '../core/stream.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import { type PageScope, selectCount, selectOne } from './page-scope.ts';
import type { SqlRow } from './sql.ts';

/** Deleted rows of feeds stay in their table, with `deleted_at` set (R11). */
export function softDeletes(table: string): boolean {
  return CATALOGUE.some((entry) => entry.method === 'feed' && entry.table === table);
}

/** The live rows `t` of a stream whose removal is held back, and their entries `h` (R14): `from … where …` */
export function fromHeldRows({ name, table, key }: Pick<Stream, 'name' | 'table' | 'key'>): string {
  const same = key.map((column, i) => ` and t.${column} = h.key_${i + 1}`).join('');
  return `from held_removals h join ${table} t on t.env_id = h.env_id${same}
    where h.stream = '${name}'${softDeletes(String(table)) ? ' and t.deleted_at is null' : ''}`;
}

/** The live rows of a stream in an environment, hidden ones too: all less the deleted ones, both counted in indexes. */
export function liveRowsIn(scope: PageScope, { table, subtype }: Pick<Stream, 'table' | 'subtype'>): number {
  const ofKind = subtype === undefined ? '' : ` and ${subtype.field} = '${subtype.is}'`;
  const ofEnvironment = `from ${table} where env_id = @env${ofKind}`;
  // SQLite counts a whole table several times faster than part of it.
  const isWhole = subtype === undefined && isOnlyEnvironmentIn(scope, table);
  const all = selectCount(scope, isWhole ? `from ${table}` : ofEnvironment);
  return softDeletes(table) ? all - selectCount(scope, `${ofEnvironment} and deleted_at is not null`) : all;
}

function isOnlyEnvironmentIn(scope: PageScope, table: string): boolean {
  const end = (order: string): string => `(select env_id from ${table} order by env_id ${order} limit 1)`;
  const { first, last } = selectOne<SqlRow>(scope, `select ${end('asc')} as first, ${end('desc')} as last`);
  return first === scope.env && last === scope.env;
}
