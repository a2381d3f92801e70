import type { Fields } from '../core/stream.ts';
import { optional, required } from '../streams/fields.ts';
import { type Item, itemOf } from './item.ts';
import type { Store } from './store.ts';

const FIELDS: Fields = {
  id: required('text'),
  name: required('text'),
  cron: optional('text'),
  last_sync_status: optional('text'),
  last_synced_at: optional('instant'),
  warehouse_type: optional('text'),
};

/** The environments the source lists, whole: the one list without pages. */
export function listEnvironments(store: Store): Item[] {
  const rows = store.rows({
    sql: `select ${Object.keys(FIELDS).join(', ')}, extra from environments where missing_since is null order by id`,
    values: {},
  });
  return rows.map((row) => itemOf(FIELDS, row, 'left out'));
}
