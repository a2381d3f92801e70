import type { Reader } from './access.ts';
import { under, valuesIn } from './filters.ts';
import type { Listing } from './listings.ts';
import type { View } from './store.ts';

/** Readers and environments that are kept at once: a server has few readers, but they may see much. */
const MOST_KEPT = 100;

/** The ids of the assets that the reader sees. */
export const VISIBLE_IDS = '(select v.id from visible_assets v where v.reader = @reader and v.env_id = @env)';

export const isLimited = ({ assetIds, paths }: Reader): boolean => assetIds !== null || paths !== null;

/** The conditions that a reader sees row `r`: one for each asset it hangs on. What he sees is kept by then. */
export function visible({ assets }: Pick<Listing, 'assets'>, reader: Reader): string[] {
  if (!isLimited(reader)) return [];
  return assets.map(
    (asset) =>
      `exists (select 1 from visible_assets v where v.reader = @reader and v.env_id = @env and v.id = ${asset})`,
  );
}

const numbers = new WeakMap<Reader, number>();
let lastNumber = 0;

/** By which number the tables know a reader; other limits are another reader. */
export function numberOf(reader: Reader): number {
  const known = numbers.get(reader);
  if (known !== undefined) return known;
  lastNumber += 1;
  numbers.set(reader, lastNumber);
  return lastNumber;
}

/** Sees to it that what the reader sees in an environment is kept as it is now. */
export function keepVisible(view: View, reader: Reader, env: string): void {
  if (!isLimited(reader)) return;
  const key = { reader: numberOf(reader), env };
  const [kept] = view.rows({ sql: KEPT, values: key });
  if (kept === undefined) makeRoom(view);
  const { assetIds, paths } = reader;
  // Of a token by ids alone no commit changes what it sees.
  const isCurrent = kept !== undefined && (paths === null || kept['at'] === view.now);
  if (isCurrent && kept['is_last_used'] === 1) return;
  if (!isCurrent) {
    const values = { ...key, ids: JSON.stringify(assetIds), paths: JSON.stringify(paths), since: kept?.['at'] ?? '' };
    if (paths === null) view.run({ sql: ALL_IDS, values });
    else for (const sql of [FORGET_CHANGED, lookAgain(reader)]) view.run({ sql, values });
  }
  view.run({ sql: USE, values: { ...key, now: view.now } });
}

const LAST_USE = '(select coalesce(max(last_use), 0) from visible_kept)';

const KEPT = `select at, last_use = ${LAST_USE} as is_last_used from visible_kept
  where reader = @reader and env_id = @env`;

const USE = `insert or replace into visible_kept values (@reader, @env, @now, ${LAST_USE} + 1)`;

/** Forgets what was not used for longest. */
function makeRoom(view: View): void {
  const [kept] = view.rows({ sql: 'select count(*) as kept from visible_kept', values: {} });
  if (Number(kept?.['kept']) < MOST_KEPT) return;
  const oldest = '(select reader, env_id from visible_kept order by last_use limit 1)';
  for (const table of ['visible_assets', 'visible_kept'])
    view.run({ sql: `delete from ${table} where (reader, env_id) = ${oldest}`, values: {} });
}

/** Ids are seen whether or not there are such assets: other rows may name them. */
const ALL_IDS = 'insert or ignore into visible_assets select @reader, @env, value from json_each(@ids)';

/** R21: whatever was committed since has a later time. */
const CHANGED = ['null', 'not null']
  .map((is) => `select a.id from assets a where a.env_id = @env and a.deleted_at is ${is} and a.mirrored_at > @since`)
  .join(' union all ');

const FORGET_CHANGED = `delete from visible_assets where reader = @reader and env_id = @env and id in (${CHANGED})`;

function lookAgain({ assetIds }: Reader): string {
  const conditions = [under('v.path', valuesIn('paths')), ...(assetIds === null ? [] : [`v.id in ${valuesIn('ids')}`])];
  return `insert into visible_assets select @reader, @env, v.id from assets v
    where v.env_id = @env and v.id in (${CHANGED}) and ${conditions.join(' and ')}`;
}
