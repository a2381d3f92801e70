import { and, eq, inArray, isNull, type SQL } from 'drizzle-orm';
import { assetLineage, assets } from '../../schema/assets.ts';
import type { AlertImpact } from '../../src/core/alerts/alert.ts';
import { type AssetEdges, nearestFailing, reachedFrom } from '../../src/core/alerts/lineage-walk.ts';
import { all, queryBuilder, type StateStatements } from '../state-statements.ts';

/** A walk through the lineage stops at this number of assets. */
const MAX_ASSETS = 10_000;

const MAX_IDS = 500;

export const UPSTREAM = { from: assetLineage.downstream_asset_id, to: assetLineage.upstream_asset_id };
const DOWNSTREAM = { from: assetLineage.upstream_asset_id, to: assetLineage.downstream_asset_id };

/** All edges that lead this way from these assets; none leads to a deleted asset. */
export function* loadEdges(
  envId: string,
  ids: Iterable<string>,
  { from, to }: typeof UPSTREAM | typeof DOWNSTREAM,
): StateStatements<AssetEdges> {
  const edges = new Map<string, string[]>();
  let level = [...new Set(ids)];
  while (level.length > 0 && edges.size < MAX_ASSETS) {
    for (const id of level) edges.set(id, []);
    const isNext = and(eq(assets.env_id, assetLineage.env_id), eq(assets.id, to));
    const found = yield* inChunks(level, (some) =>
      queryBuilder
        .select({ upstream_asset_id: UPSTREAM.to, downstream_asset_id: UPSTREAM.from })
        .from(assetLineage)
        .leftJoin(assets, isNext)
        .where(and(eq(assetLineage.env_id, envId), inArray(from, some), isNull(assets.deleted_at)))
        .orderBy(from, to),
    );
    for (const edge of found) edges.get(edge[from.name as keyof typeof edge])?.push(edge[to.name as keyof typeof edge]);
    level = [...new Set(found.map((edge) => edge[to.name as keyof typeof edge]))].filter((id) => !edges.has(id));
  }
  return edges;
}

function* inChunks<Found>(
  ids: readonly string[],
  select: (some: string[]) => Parameters<typeof all<Found>>[0],
): StateStatements<Found[]> {
  const found: Found[] = [];
  for (let at = 0; at < ids.length; at += MAX_IDS) found.push(...(yield* all(select(ids.slice(at, at + MAX_IDS)))));
  return found;
}

const MAX_DASHBOARDS = 5;

/** What depends on these assets, and what probably made them fail, by asset. */
export function* loadImpact(
  envId: string,
  ids: ReadonlySet<string>,
  failing: ReadonlySet<string>,
): StateStatements<Map<string, AlertImpact>> {
  if (ids.size === 0) return new Map();
  const upstream = yield* loadEdges(envId, ids, UPSTREAM);
  const downstream = yield* loadEdges(envId, ids, DOWNSTREAM);
  const causes = new Map([...ids].map((id) => [id, nearestFailing(upstream, failing, id)]));
  const { id, name, kind, url } = assets;
  const load = (some: Iterable<string>, condition?: SQL) =>
    inChunks([...some], (chunk) =>
      queryBuilder
        .select({ id, name, url })
        .from(assets)
        .where(and(eq(assets.env_id, envId), inArray(id, chunk), condition)),
    );
  const boards = new Map((yield* load(downstream.keys(), eq(kind, 'bi'))).map((row) => [row.id, row]));
  const failed = yield* load(new Set([...causes.values()].filter((each) => each !== null)));
  const known = new Map(failed.map((row) => [row.id, row]));
  const impactOf = (assetId: string): AlertImpact => {
    const reached = [...reachedFrom(downstream, assetId)];
    const dashboards = reached.flatMap((each) => boards.get(each) ?? []);
    const cause = causes.get(assetId) ?? null;
    return {
      ...{ downstream_count: reached.length, downstream_cut: downstream.size >= MAX_ASSETS },
      dashboard_count: dashboards.length,
      dashboards: dashboards.slice(0, MAX_DASHBOARDS).map((row) => ({ name: row.name ?? row.id, url: row.url })),
      cause: cause === null ? null : { asset_id: cause, name: known.get(cause)?.name ?? cause },
    };
  };
  return new Map([...ids].map((each) => [each, impactOf(each)]));
}
