import { CATALOGUE } from '../streams/catalogue.ts';
import type { Entry } from '../streams/entry.ts';
import type { View } from './store.ts';

/** The operation that counts; no endpoint has it. */
export const COUNT_ROWS = 'countRows';

/** The live rows of each stream, over all environments: a million take a while. */
export function countRows(view: View): Readonly<Record<string, number>> {
  return Object.fromEntries(CATALOGUE.map((entry) => [entry.name, countOf(view, entry)]));
}

function countOf(view: View, { table, within }: Entry): number {
  const conditions = ['true'];
  if (keepsGone(table)) conditions.push('deleted_at is null');
  if (within !== undefined) conditions.push(`${within.field} = '${within.is}'`);
  const sql = `select count(*) as rows from ${table} where ${conditions.join(' and ')}`;
  return Number(view.rows({ sql, values: {} })[0]?.['rows']);
}

/** Rows of feeds stay in their table when they are gone (R11). */
function keepsGone(table: string): boolean {
  return CATALOGUE.some((entry) => entry.method === 'feed' && entry.table === table);
}
