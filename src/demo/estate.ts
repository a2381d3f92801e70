import type { assets, columns } from '../../schema/assets.ts';
import { DAY_MS, HOUR_MS } from '../core/time/duration.ts';
import { instantOfMs } from '../core/time/instant.ts';
import type { SampleDomain } from './domains.ts';
import type { SeededRandom } from './random.ts';

export type AssetRow = typeof assets.$inferInsert;
export type ColumnRow = typeof columns.$inferInsert;

const PASS_EVERY_MS = 6 * HOUR_MS;

/** An environment under construction. */
export interface SampleEstate {
  readonly env: string;
  readonly random: SeededRandom;
  readonly nowMs: number;
  /** The time of the service's newest sync, and how many of its syncs the objects come from. */
  readonly latestMs: number;
  readonly syncs: number;
  readonly nodes: SampleAsset[];
}

/** A domain of it, whose tables are in a warehouse of this platform. */
export interface SampleDomainEstate extends SampleEstate {
  readonly domain: SampleDomain;
  readonly platform: string;
}

/** An asset with its columns, and what both derive from. */
export interface SampleAsset {
  readonly asset: AssetRow;
  readonly columns: readonly SampleColumn[];
  readonly from: readonly SampleAsset[];
}

export interface SampleColumn {
  readonly row: ColumnRow;
  readonly from: readonly SampleColumn[];
}

export interface ColumnPlan {
  readonly name: string;
  readonly type: string;
  readonly from: readonly SampleColumn[];
}

/** A column that shows this one as it is. */
export const copyOf = (column: SampleColumn): ColumnPlan => ({
  name: column.row.name as string,
  type: column.row.data_type as string,
  from: [column],
});

/** An asset before the environment and the times are added. */
export type AssetPlan = Omit<AssetRow, 'env_id' | 'mirrored_at' | 'owners' | 'tags'> & {
  readonly owners: readonly string[];
  readonly tags: readonly string[];
};

export function addNode(
  estate: SampleEstate,
  plan: AssetPlan,
  from: readonly SampleAsset[],
  columns: readonly ColumnPlan[] = [],
): SampleAsset {
  const times = timesOf(estate);
  const { synced_at } = times;
  const own = { env_id: estate.env, synced_at, mirrored_at: synced_at };
  const node = {
    asset: { ...plan, ...times, ...own, owners: JSON.stringify(plan.owners), tags: JSON.stringify(plan.tags) },
    columns: columns.map(({ name, type, from }) => ({
      row: { ...own, id: `${plan.id}.${name}`, asset_id: plan.id, name, data_type: type },
      from,
    })),
    from,
  };
  estate.nodes.push(node);
  return node;
}

/** When the service synced an object. Objects of one sync share their `synced_at`. */
export const syncedMs = ({ random, latestMs, syncs }: SampleEstate): number =>
  latestMs - random.whole(syncs) * PASS_EVERY_MS;

function timesOf(estate: SampleEstate) {
  const { random } = estate;
  const atMs = syncedMs(estate);
  const updatedMs = atMs - random.whole(PASS_EVERY_MS);
  return {
    synced_at: instantOfMs(atMs),
    updated_at: instantOfMs(updatedMs),
    created_at: instantOfMs(updatedMs - (30 + random.whole(900)) * DAY_MS),
  };
}
