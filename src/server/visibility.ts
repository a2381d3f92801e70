import { selectValues } from '../page-data/sql.ts';
import type { Principal } from './access.ts';
import { whereUnderPath } from './filters.ts';
import type { CollectionListing } from './listings.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';

/** The maximum number of cached pairs of reader and environment. Readers are few, but each may see many assets. */
const MAX_CACHED = 100;

/** A subquery of the ids of the assets that the reader sees. */
export const VISIBLE_IDS = '(select v.id from visible_assets v where v.reader = @reader and v.env_id = @env)';

export const isLimited = ({ assetIds, paths }: Principal): boolean => assetIds !== null || paths !== null;

/** The conditions for a reader to see row `r`, one per asset that it belongs to. Requires `cacheVisibleAssets`. */
export function whereVisible({ assets }: Pick<CollectionListing, 'assets'>, reader: Principal): string[] {
  if (!isLimited(reader)) return [];
  return assets.map(
    (asset) =>
      `exists (select 1 from visible_assets v where v.reader = @reader and v.env_id = @env and v.id = ${asset})`,
  );
}

const numbers = new WeakMap<Principal, number>();
let lastNumber = 0;

/** A reader's number in the temporary tables. A reader with other restrictions has another number. */
export function readerNumber(reader: Principal): number {
  const known = numbers.get(reader);
  if (known !== undefined) return known;
  lastNumber += 1;
  numbers.set(reader, lastNumber);
  return lastNumber;
}

/** Updates the cached list of assets that the reader sees in an environment. */
export function cacheVisibleAssets(view: MirrorSnapshot, reader: Principal, env: string | undefined): void {
  if (env === undefined || !isLimited(reader)) return;
  const key = { reader: readerNumber(reader), env };
  const [cached] = view.rows({ sql: SELECT_CACHED, values: key });
  if (cached === undefined) evictOldest(view);
  const { assetIds, paths } = reader;
  const now = view.clockOf(env);
  // A token restricted only by ids sees the same assets after every commit.
  const isCurrent = cached !== undefined && (paths === null || cached['at'] === now);
  if (isCurrent && cached['is_last_used'] === 1) return;
  if (!isCurrent) {
    const values = { ...key, ids: JSON.stringify(assetIds), paths: JSON.stringify(paths), since: cached?.['at'] ?? '' };
    if (paths === null) view.run({ sql: INSERT_ALL_IDS, values });
    else for (const sql of [DELETE_CHANGED, insertChanged(reader)]) view.run({ sql, values });
  }
  view.run({ sql: RECORD_USE, values: { ...key, now } });
}

const LAST_USE = '(select coalesce(max(last_use), 0) from visible_kept)';

const SELECT_CACHED = `select at, last_use = ${LAST_USE} as is_last_used from visible_kept
  where reader = @reader and env_id = @env`;

const RECORD_USE = `insert or replace into visible_kept values (@reader, @env, @now, ${LAST_USE} + 1)`;

function evictOldest(view: MirrorSnapshot): void {
  const [kept] = view.rows({ sql: 'select count(*) as kept from visible_kept', values: {} });
  if (Number(kept?.['kept']) < MAX_CACHED) return;
  const oldest = '(select reader, env_id from visible_kept order by last_use limit 1)';
  for (const table of ['visible_assets', 'visible_kept'])
    view.run({ sql: `delete from ${table} where (reader, env_id) = ${oldest}`, values: {} });
}

/** All ids of the token, including those without an asset: other rows may refer to them. */
const INSERT_ALL_IDS = 'insert or ignore into visible_assets select @reader, @env, value from json_each(@ids)';

/** Assets committed since: their times are later (R21). */
const CHANGED = ['null', 'not null']
  .map((is) => `select a.id from assets a where a.env_id = @env and a.deleted_at is ${is} and a.mirrored_at > @since`)
  .join(' union all ');

const DELETE_CHANGED = `delete from visible_assets where reader = @reader and env_id = @env and id in (${CHANGED})`;

function insertChanged({ assetIds }: Principal): string {
  const conditions = [
    whereUnderPath('v.path', selectValues('paths')),
    ...(assetIds === null ? [] : [`v.id in ${selectValues('ids')}`]),
  ];
  return `insert into visible_assets select @reader, @env, v.id from assets v
    where v.env_id = @env and v.id in (${CHANGED}) and ${conditions.join(' and ')}`;
}
