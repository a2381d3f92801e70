import { CATALOGUE } from '../streams/catalogue.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';

/** The operation that counts rows; it has no endpoint. */
export const COUNT_ROWS = 'countRows';

/** The number of live rows of each stream, over all environments. A million rows take a while. */
export function countRows(mirrorSnapshot: MirrorSnapshot): Readonly<Record<string, number>> {
  return Object.fromEntries(CATALOGUE.map((entry) => [entry.name, countOf(mirrorSnapshot, entry)]));
}

function countOf(mirrorSnapshot: MirrorSnapshot, { table, subtype }: CatalogueEntry): number {
  const conditions = ['true'];
  if (keepsGone(table)) conditions.push('deleted_at is null');
  if (subtype !== undefined) conditions.push(`${subtype.field} = '${subtype.is}'`);
  const sql = `select count(*) as rows from ${table} where ${conditions.join(' and ')}`;
  return Number(mirrorSnapshot.rows({ sql, values: {} })[0]?.['rows']);
}

/** Deleted rows of feeds stay in their table (R11). */
function keepsGone(table: string): boolean {
  return CATALOGUE.some((entry) => entry.method === 'feed' && entry.table === table);
}
