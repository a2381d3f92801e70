import { countLiveRows } from '../page-data/live-rows.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';

/** The operation that counts rows. It has no endpoint. */
export const COUNT_ROWS = 'countRows';

/** The number of live rows of each stream, over all environments. Counting a million rows takes a while. */
export function countRows(view: MirrorSnapshot): Readonly<Record<string, number>> {
  const counted = CATALOGUE.map((entry): [string, number] => {
    const [row] = view.rows({ sql: countLiveRows(entry), values: {} });
    return [entry.name, Number(row?.['rows'])];
  });
  return Object.fromEntries(counted);
}
