import type { Principal } from './access.ts';
import { under, valuesIn } from './filters.ts';
import type { CollectionListing } from './listings.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';

/** Readers and environments that are kept at once: a server has few readers, but they may see much. */
const MOST_KEPT = 100;

/** The ids of the assets that the reader sees. */
export const VISIBLE_IDS = '(select v.id from visible_assets v where v.reader = @reader and v.env_id = @env)';

export const isLimited = ({ assetIds, paths }: Principal): boolean => assetIds !== null || paths !== null;

/** The conditions that a reader sees row `r`: one for each asset it hangs on. What he sees is kept by then. */
export function visible({ assets }: Pick<CollectionListing, 'assets'>, principal: Principal): string[] {
  if (!isLimited(principal)) return [];
  return assets.map(
    (asset) =>
      `exists (select 1 from visible_assets v where v.reader = @reader and v.env_id = @env and v.id = ${asset})`,
  );
}

const numbers = new WeakMap<Principal, number>();
let lastNumber = 0;

/** By which number the tables know a reader; other limits are another reader. */
export function numberOf(principal: Principal): number {
  const known = numbers.get(principal);
  if (known !== undefined) return known;
  lastNumber += 1;
  numbers.set(principal, lastNumber);
  return lastNumber;
}

/** Sees to it that what the reader sees in an environment is kept as it is now. */
export function keepVisible(mirrorSnapshot: MirrorSnapshot, principal: Principal, env: string): void {
  if (!isLimited(principal)) return;
  const key = { reader: numberOf(principal), env };
  const [kept] = mirrorSnapshot.rows({ sql: KEPT, values: key });
  if (kept === undefined) makeRoom(mirrorSnapshot);
  const { assetIds, paths } = principal;
  const now = mirrorSnapshot.clockOf(env);
  // Of a token by ids alone no commit changes what it sees.
  const isCurrent = kept !== undefined && (paths === null || kept['at'] === now);
  if (isCurrent && kept['is_last_used'] === 1) return;
  if (!isCurrent) {
    const values = { ...key, ids: JSON.stringify(assetIds), paths: JSON.stringify(paths), since: kept?.['at'] ?? '' };
    if (paths === null) mirrorSnapshot.run({ sql: ALL_IDS, values });
    else for (const sql of [FORGET_CHANGED, lookAgain(principal)]) mirrorSnapshot.run({ sql, values });
  }
  mirrorSnapshot.run({ sql: USE, values: { ...key, now } });
}

const LAST_USE = '(select coalesce(max(last_use), 0) from visible_kept)';

const KEPT = `select at, last_use = ${LAST_USE} as is_last_used from visible_kept
  where reader = @reader and env_id = @env`;

const USE = `insert or replace into visible_kept values (@reader, @env, @now, ${LAST_USE} + 1)`;

/** Forgets what was not used for longest. */
function makeRoom(mirrorSnapshot: MirrorSnapshot): void {
  const [kept] = mirrorSnapshot.rows({ sql: 'select count(*) as kept from visible_kept', values: {} });
  if (Number(kept?.['kept']) < MOST_KEPT) return;
  const oldest = '(select reader, env_id from visible_kept order by last_use limit 1)';
  for (const table of ['visible_assets', 'visible_kept'])
    mirrorSnapshot.run({ sql: `delete from ${table} where (reader, env_id) = ${oldest}`, values: {} });
}

/** Ids are seen whether or not there are such assets: other rows may name them. */
const ALL_IDS = 'insert or ignore into visible_assets select @reader, @env, value from json_each(@ids)';

/** R21: whatever was committed since has a later time. */
const CHANGED = ['null', 'not null']
  .map((is) => `select a.id from assets a where a.env_id = @env and a.deleted_at is ${is} and a.mirrored_at > @since`)
  .join(' union all ');

const FORGET_CHANGED = `delete from visible_assets where reader = @reader and env_id = @env and id in (${CHANGED})`;

function lookAgain({ assetIds }: Principal): string {
  const conditions = [under('v.path', valuesIn('paths')), ...(assetIds === null ? [] : [`v.id in ${valuesIn('ids')}`])];
  return `insert into visible_assets select @reader, @env, v.id from assets v
    where v.env_id = @env and v.id in (${CHANGED}) and ${conditions.join(' and ')}`;
}
