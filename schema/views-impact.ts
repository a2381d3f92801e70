import { sql } from 'drizzle-orm';
import { assets } from './assets.ts';
import { integer, text, time } from './column-types.ts';
import { sameColumns } from './table.ts';
import { view } from './view.ts';
import type { ViewDialect } from './view-dialect.ts';
import {
  assetKind,
  coverage,
  fromLiveAssets,
  joinEnvironment,
  kind,
  lineageDepth,
  namedAsset,
  namedTest,
  ownerList,
  ownersOfBoth,
} from './view-parts.ts';
import { coverageCounts, failingTests } from './views-data-tests.ts';

const downstream = { from: 'upstream_asset_id', to: 'downstream_asset_id' };

export const failingTestImpact = view('failing_test_impact', {
  description:
    'A row per row of `failing_tests` and asset downstream of the asset that the test is about. A failing test with nothing downstream has none.',
  columns: {
    ...namedTest(),
    ...sameColumns(failingTests, 'test_type', 'severity', 'sub_test_unique_id', 'column_name', 'status', 'start_time'),
    ...namedAsset(),
    ...ownersOfBoth(),
    downstream_asset_id: text('a descendant of the asset'),
    downstream_name: text('its name; NULL if the mirror has no such asset'),
    downstream_kind: text('its kind; `bi` for dashboards and their like'),
    downstream_bi_type: text('its type if it is a BI asset, such as `dashboard`'),
    downstream_url: text('its address in its own platform if it is a BI asset'),
    downstream_owners: ownerList(),
    depth: lineageDepth(),
  },
  select: (
    d,
  ) => sql`SELECT f.env_id, f.env_name, f.test_id, f.test_name, f.test_type, f.severity, f.sub_test_unique_id, f.column_name,
  f.status, f.start_time, f.asset_id, f.asset_name, f.test_owners, f.asset_owners, ${d.reachedId} AS downstream_asset_id,
  o.name AS downstream_name, ${d.text(sql`CASE WHEN o.id IS NOT NULL THEN ${kind(d, 'o')} END`)} AS downstream_kind,
  o.bi_type AS downstream_bi_type, o.url AS downstream_url, ${d.listed('o.owners')} AS downstream_owners,
  ${d.reachedDepth} AS depth
FROM failing_tests f
${d.joinReached({ envId: 'f.env_id', id: 'f.asset_id', ...downstream })}
WHERE o.deleted_at IS NULL`,
});

const reached = { envId: 'a.env_id', id: 'a.id', ...downstream };

export const coverageByImpact = view('coverage_by_impact', {
  description:
    'A row per live table: what of it is tested, and what depends on it. ' +
    '`downstream_count` and `downstream_bi_count` take one walk through the lineage for each row that a query asks for. ' +
    'With very many edges, select the tables with the largest `direct_downstream_count` first, and count for these.',
  key: ['env_id', 'asset_id'],
  columns: {
    ...namedAsset(),
    ...sameColumns(assets, 'db_name', 'schema_name', 'table_name'),
    owners: ownerList(),
    ...coverage(),
    direct_downstream_count: integer('number of assets that read from it directly'),
    downstream_count: integer('number of its descendants'),
    downstream_bi_count: integer('of these, BI assets'),
  },
  select: (
    d,
  ) => sql`SELECT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, a.db_name, a.schema_name, a.table_name,
  ${d.listed('a.owners')} AS owners, ${coverageCounts(d)},
  ${d.integer(sql`(SELECT count(*) FROM asset_lineage e
    LEFT JOIN assets o ON o.env_id = e.env_id AND o.id = e.downstream_asset_id
    WHERE e.env_id = a.env_id AND e.upstream_asset_id = a.id AND e.downstream_asset_id <> a.id
      AND o.deleted_at IS NULL)`)} AS direct_downstream_count,
  ${d.countReached(reached)} AS downstream_count,
  ${d.countReached(reached, sql` AND o.kind = 'bi'`)} AS downstream_bi_count
${fromLiveAssets} AND a.kind = 'table'`,
});

const STALE_DAYS = sql.raw('30');
const age = (d: ViewDialect) => d.daysBetween(sql`a.updated_at`, sql`c.watermark`);

export const staleAssets = view('stale_assets', {
  description:
    'A row per live asset whose platform updated it last more than 30 days before the time up to which assets are mirrored. An asset without `updated_at` is not shown.',
  key: ['env_id', 'asset_id'],
  columns: {
    ...namedAsset(),
    kind: assetKind(),
    ...sameColumns(assets, 'db_name', 'schema_name'),
    owners: ownerList(),
    ...sameColumns(assets, 'updated_at'),
    days_since_update: integer('whole days from then to the time up to which assets are mirrored'),
    last_test_start_time: time('start of the latest run of its enabled tests; NULL if there is none'),
  },
  select: (
    d,
  ) => sql`SELECT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, ${kind(d, 'a')} AS kind, a.db_name,
  a.schema_name, ${d.listed('a.owners')} AS owners, a.updated_at, ${d.whole(age(d))} AS days_since_update,
  ${d.time(sql`(SELECT max(x.start_time) FROM tests t
    JOIN latest_test_executions x ON x.env_id = t.env_id AND x.test_id = t.id
    WHERE t.env_id = a.env_id AND t.asset_id = a.id AND t.deleted_at IS NULL AND ${d.enabled})`)} AS last_test_start_time
FROM assets a JOIN sync_checkpoints c ON c.env_id = a.env_id AND c.stream = 'assets' ${joinEnvironment('a')}
WHERE a.deleted_at IS NULL AND ${age(d)} > ${STALE_DAYS}`,
});
