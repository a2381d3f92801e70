import { sql } from 'drizzle-orm';
import { view } from './view.ts';
import type { ViewDialect } from './view-dialect.ts';
import { environment, fromLiveAssets, integers, joinEnvironment, kind, texts } from './view-parts.ts';
import { coverageCounts } from './views-data-tests.ts';

const downstream = { from: 'upstream_asset_id', to: 'downstream_asset_id' };

/**
 * One row per failing sub-test and asset downstream of the one it tests, such as a dashboard that may show wrong
 * numbers.
 */
export const failingTestImpact = view(
  'failing_test_impact',
  {
    ...environment(),
    ...texts(
      'test_id',
      'test_name',
      'test_type',
      'severity',
      'sub_test_unique_id',
      'column_name',
      'status',
      'start_time',
    ),
    ...texts('asset_id', 'asset_name', 'test_owners', 'asset_owners'),
    ...texts('downstream_asset_id', 'downstream_name', 'downstream_kind', 'downstream_bi_type', 'downstream_url'),
    ...texts('downstream_owners'),
    ...integers('depth'),
  },
  (
    d,
  ) => sql`SELECT f.env_id, f.env_name, f.test_id, f.test_name, f.test_type, f.severity, f.sub_test_unique_id, f.column_name,
  f.status, f.start_time, f.asset_id, f.asset_name, f.test_owners, f.asset_owners, ${d.reachedId} AS downstream_asset_id,
  o.name AS downstream_name, ${d.text(sql`CASE WHEN o.id IS NOT NULL THEN ${kind(d, 'o')} END`)} AS downstream_kind,
  o.bi_type AS downstream_bi_type, o.url AS downstream_url, ${d.listed('o.owners')} AS downstream_owners,
  ${d.reachedDepth} AS depth
FROM failing_tests f
${d.joinReached({ envId: 'f.env_id', id: 'f.asset_id', ...downstream })}
WHERE o.deleted_at IS NULL`,
);

const reached = { envId: 'a.env_id', id: 'a.id', ...downstream };

/**
 * One row per table: what of it is tested, and what hangs on it. The assets that read from it directly are quickly
 * counted; for all those downstream each table takes a walk, which SQLite makes only for the rows and columns that a
 * query asks for.
 */
export const coverageByImpact = view(
  'coverage_by_impact',
  {
    ...environment(),
    ...texts('asset_id', 'asset_name', 'db_name', 'schema_name', 'table_name', 'owners'),
    ...integers('test_count', 'column_count', 'tested_column_count'),
    ...integers('direct_downstream_count', 'downstream_count', 'downstream_bi_count'),
  },
  (
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
);

const STALE_DAYS = sql.raw('30');
const age = (d: ViewDialect) => d.daysBetween(sql`a.updated_at`, sql`m.mirrored_at`);

/** One row per asset whose platform updated it last more than 30 days before the end of the last sync. */
export const staleAssets = view(
  'stale_assets',
  {
    ...environment(),
    ...texts('asset_id', 'asset_name', 'kind', 'db_name', 'schema_name', 'owners', 'updated_at'),
    ...integers('days_since_update'),
    ...texts('last_test_start_time'),
  },
  (
    d,
  ) => sql`SELECT a.env_id, v.name AS env_name, a.id AS asset_id, a.name AS asset_name, ${kind(d, 'a')} AS kind, a.db_name,
  a.schema_name, ${d.listed('a.owners')} AS owners, a.updated_at, ${d.whole(age(d))} AS days_since_update,
  ${d.time(sql`(SELECT max(x.start_time) FROM tests t
    JOIN latest_test_executions x ON x.env_id = t.env_id AND x.test_id = t.id
    WHERE t.env_id = a.env_id AND t.asset_id = a.id AND t.deleted_at IS NULL AND ${d.enabled})`)} AS last_test_start_time
FROM assets a JOIN mirror_environments m ON m.env_id = a.env_id ${joinEnvironment('a')}
WHERE a.deleted_at IS NULL AND ${age(d)} > ${STALE_DAYS}`,
);
