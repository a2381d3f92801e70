import type { Stream } from '../core/stream.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { PageReads } from './page-scope.ts';

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

/** The live rows of a stream in an environment: all less the deleted ones, both counted in indexes. */
export function liveRowsIn(
  reads: PageReads,
  { table, subtype }: Pick<Stream, 'table' | 'subtype'>,
  env: string,
): number {
  const count = (conditions: readonly string[]): number => {
    const where = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`;
    return Number(reads.rows({ sql: `select count(*) as rows from ${table}${where}`, values: { env } })[0]?.['rows']);
  };
  const ofEnvironment = 'env_id = @env';
  const ofKind = subtype === undefined ? [] : [`${subtype.field} = '${subtype.is}'`];
  const isAlone = ofKind.length === 0 && isOnlyEnvironmentIn(reads, table, env);
  // SQLite counts a whole table several times faster than part of it.
  const all = count(isAlone ? [] : [ofEnvironment, ...ofKind]);
  return softDeletes(table) ? all - count([ofEnvironment, ...ofKind, 'deleted_at is not null']) : all;
}

/** Whether no other environment has a row in the table. */
function isOnlyEnvironmentIn(reads: PageReads, table: string, env: string): boolean {
  const end = (order: string): string => `(select env_id from ${table} order by env_id ${order} limit 1)`;
  const [ends] = reads.rows({ sql: `select ${end('asc')} as first, ${end('desc')} as last`, values: {} });
  return ends?.['first'] === env && ends['last'] === env;
}
