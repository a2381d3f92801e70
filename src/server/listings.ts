import { assetHealthScores } from '../streams/asset-health-scores.ts';
import { assetLineage } from '../streams/asset-lineage.ts';
import { assets } from '../streams/assets.ts';
import { biAssets } from '../streams/bi-assets.ts';
import { columnLineage } from '../streams/column-lineage.ts';
import { columns } from '../streams/columns.ts';
import type { Entry } from '../streams/entry.ts';
import { latestTestExecutions } from '../streams/latest-test-executions.ts';
import { tableAssets } from '../streams/table-assets.ts';
import { testExecutions } from '../streams/test-executions.ts';
import { tests } from '../streams/tests.ts';
import { among, type Filters, intoAsset, ofTests, tagged, touchingAsset, underPath } from './filters.ts';

/**
 * One list endpoint, as data; its path, fields and table are the catalogue's. In the SQL `r` is the row, `c` the joined
 * row, `@env` the environment and `@id` the id in the path.
 */
export interface Listing {
  readonly entry: Entry;
  readonly join?: string;
  /** Which rows there are at all; `+` says that the kind is no use as an index, for half of the rows have it. */
  readonly where?: string;
  /** Where the times stand that the feeds go by: rows with a `deleted` time are in the tombstones feed alone. */
  readonly times?: { readonly synced: string; readonly deleted: string };
  readonly feeds?: true;
  /** Tombstones show their `deleted_at`. */
  readonly showsDeletion?: true;
  readonly filters: Filters;
  /** The values of `order_by` and what they sort by, the default first; the key breaks ties. */
  readonly orders: Readonly<Record<string, readonly string[]>>;
  /** `fixed`: neither `order_by` nor `direction` is taken. */
  readonly direction: 'asc' | 'desc' | 'fixed';
  /** What `disabled` left out or `false` shows, and `true`; a feed shows both. */
  readonly disabled?: { readonly without: string; readonly only: string };
  /** The time that `start_time_from` and `start_time_to` bound. */
  readonly window?: string;
  /** The row that has to be there, else 404. */
  readonly parent?: { readonly word: string; readonly exists: string };
  /** Fields without a value: shown as null or left out. */
  readonly nulls: 'shown' | 'left out';
}

const ASSET_FILTERS: Filters = {
  ids: among('r.id'),
  source_types: among('r.source_type'),
  tags: tagged,
  path: underPath,
};

const SOFT = {
  times: { synced: 'r.synced_at', deleted: 'r.deleted_at' },
  feeds: true,
  showsDeletion: true,
  orders: { id: ['r.id'], synced_at: ['r.synced_at', 'r.id'] },
  direction: 'asc',
} as const;

const parentTest = (condition: string) =>
  `(select 1 from tests p where p.env_id = r.env_id and p.id = r.test_id and ${condition})`;

const liveAsset = (column: string) =>
  `exists (select 1 from assets a where a.env_id = r.env_id and a.id = ${column} and a.deleted_at is null)`;

export const LISTINGS: readonly Listing[] = [
  { entry: assets, ...SOFT, filters: ASSET_FILTERS, nulls: 'shown' },
  {
    entry: tableAssets,
    ...SOFT,
    where: "+r.kind = 'table'",
    filters: {
      ...ASSET_FILTERS,
      db_names: among('r.db_name'),
      schema_names: among('r.schema_name'),
      materializations: among('r.materialization'),
    },
    nulls: 'shown',
  },
  {
    entry: biAssets,
    ...SOFT,
    where: "+r.kind = 'bi'",
    filters: { ...ASSET_FILTERS, bi_platforms: among('r.bi_platform') },
    nulls: 'shown',
  },
  {
    entry: columns,
    ...SOFT,
    filters: { ids: among('r.id'), asset_ids: among('r.asset_id'), data_types: among('r.data_type') },
    nulls: 'left out',
  },
  {
    entry: tests,
    ...SOFT,
    filters: {
      ids: among('r.id'),
      asset_ids: among('r.asset_id'),
      test_types: among('r.test_type'),
      definition_types: among('r.definition_type'),
      source_types: among('r.source_type'),
      tags: tagged,
    },
    disabled: { without: 'r.disabled is not 1', only: 'r.disabled = 1' },
    nulls: 'left out',
  },
  {
    entry: testExecutions,
    where: 'r.test_id = @id',
    parent: { word: 'test', exists: 'select 1 from tests where env_id = @env and id = @id and deleted_at is null' },
    filters: { sub_test_ids: among('r.sub_test_unique_id'), statuses: among('r.status') },
    orders: {
      start_time: ['r.start_time', 'r.id', 'r.sub_test_unique_id'],
      id: ['r.id', 'r.sub_test_unique_id'],
    },
    direction: 'desc',
    window: 'r.start_time',
    nulls: 'shown',
  },
  {
    entry: assetLineage,
    where: `${liveAsset('r.upstream_asset_id')} and ${liveAsset('r.downstream_asset_id')}`,
    filters: { asset_ids: touchingAsset },
    orders: { id: ['r.upstream_asset_id', 'r.downstream_asset_id'] },
    direction: 'fixed',
    nulls: 'left out',
  },
  {
    entry: columnLineage,
    join: 'join columns c on c.env_id = r.env_id and c.id = r.downstream_column_id',
    times: { synced: 'c.synced_at', deleted: 'c.deleted_at' },
    feeds: true,
    filters: { column_ids: among('r.downstream_column_id'), asset_ids: intoAsset },
    orders: {
      id: ['r.downstream_column_id', 'r.upstream_column_id'],
      synced_at: ['c.synced_at', 'r.downstream_column_id', 'r.upstream_column_id'],
    },
    direction: 'asc',
    nulls: 'left out',
  },
  {
    entry: latestTestExecutions,
    filters: {
      sub_test_ids: among('r.sub_test_unique_id'),
      test_ids: among('r.test_id'),
      asset_ids: ofTests('asset_id'),
      test_types: ofTests('test_type'),
      definition_types: ofTests('definition_type'),
      source_types: ofTests('source_type'),
      statuses: among('r.status'),
    },
    orders: { id: ['r.sub_test_unique_id'], synced_at: ['r.synced_at', 'r.sub_test_unique_id'] },
    direction: 'asc',
    disabled: {
      without: `not exists ${parentTest('(p.deleted_at is not null or p.disabled = 1)')}`,
      only: `exists ${parentTest('p.deleted_at is null and p.disabled = 1')}`,
    },
    nulls: 'shown',
  },
  {
    entry: assetHealthScores,
    filters: { asset_ids: among('r.asset_id') },
    orders: { id: ['r.asset_id'] },
    direction: 'fixed',
    nulls: 'left out',
  },
];
