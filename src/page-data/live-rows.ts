import { CATALOGUE } from '../streams/catalogue.ts';
import type { CatalogueEntry } from '../streams/entry.ts';

/** A statement that counts the live rows of a stream as `rows`; a condition on the environment may follow it with AND. */
export function countLiveRows({ table, subtype }: CatalogueEntry): string {
  const conditions = ['true'];
  if (keepsGone(table)) conditions.push('deleted_at is null');
  if (subtype !== undefined) conditions.push(`${subtype.field} = '${subtype.is}'`);
  return `select count(*) as rows from ${table} where ${conditions.join(' and ')}`;
}

/** Deleted rows of feeds stay in their table (R11). */
export function keepsGone(table: string): boolean {
  return CATALOGUE.some((entry) => entry.method === 'feed' && entry.table === table);
}
