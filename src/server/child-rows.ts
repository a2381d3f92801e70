import type { Instant } from '../core/time/instant.ts';
import { type ApiItem, itemOf } from './item.ts';
import type { CollectionListing } from './listings.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';
import { weekBefore } from './times.ts';

/** Adds child rows (the dimensions of a score) to the items of a page, except those of old scores. */
export function addChildRows(
  view: MirrorSnapshot,
  { entry, nulls, weekOf }: CollectionListing,
  { env, serverTime }: { env: string; serverTime: Instant },
  items: readonly ApiItem[],
): void {
  const [key = ''] = entry.key;
  const recent = weekOf === undefined ? '' : `and ${weekOf} >= @week`;
  for (const part of entry.childTables ?? []) {
    const names = [key, ...Object.keys(part.fields), 'extra'].map((name) => `"${name}"`).join(', ');
    const rows = view.rows({
      sql: `select ${names} from ${part.table} where env_id = @env ${recent}
        and "${key}" in (select value from json_each(@keys)) order by ${part.key.join(', ')}`,
      values: { env, week: weekBefore(serverTime), keys: JSON.stringify(items.map((item) => item[key])) },
    });
    const byKey = Map.groupBy(rows, (row) => row[key]);
    for (const item of items) {
      item[part.each] = (byKey.get(item[key] as string) ?? []).map((row) => itemOf(part.fields, row, nulls));
    }
  }
}
