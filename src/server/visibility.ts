import type { Reader } from './access.ts';
import { under, valuesIn } from './filters.ts';
import type { Listing } from './listings.ts';

/** The conditions that a reader sees row `r`: one for each asset it hangs on and each limit set to the reader. */
export function visible({ assets }: Pick<Listing, 'assets'>, reader: Reader): string[] {
  return assets.flatMap((asset) => seen(asset, reader));
}

function seen(asset: string, { assetIds, paths }: Reader): string[] {
  const conditions: string[] = [];
  if (assetIds !== null) conditions.push(`${asset} in ${valuesIn('readable_ids')}`);
  if (paths !== null)
    conditions.push(`exists (select 1 from assets v where v.env_id = @env and v.id = ${asset}
      and ${under('v.path', valuesIn('readable_paths'))})`);
  return conditions;
}

/** The values those conditions name. */
export function readable({ assetIds, paths }: Reader): Record<string, string> {
  return { readable_ids: JSON.stringify(assetIds ?? []), readable_paths: JSON.stringify(paths ?? []) };
}
