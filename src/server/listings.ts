import { assetHealthScores } from '../streams/asset-health-scores.ts';
import { assetLineage } from '../streams/asset-lineage.ts';
import { assets } from '../streams/assets.ts';
import { biAssets } from '../streams/bi-assets.ts';
import type { CollectionName } from '../streams/catalogue.ts';
import { columnLineage } from '../streams/column-lineage.ts';
import { columns } from '../streams/columns.ts';
import type { CollectionEntry } from '../streams/entry.ts';
import { latestTestExecutions } from '../streams/latest-test-executions.ts';
import { tableAssets } from '../streams/table-assets.ts';
import { testExecutions } from '../streams/test-executions.ts';
import { tests } from '../streams/tests.ts';
import {
  type ArrayFilters,
  intoAsset,
  ofTests,
  ofTestsOnAsset,
  oneOf,
  oneOfIndexed,
  tagged,
  touchingAsset,
  underPath,
} from './filters.ts';

export const SCOPES = ['assets', 'tests'] as const;

/** The view scope that an endpoint needs. */
export type ViewScope = (typeof SCOPES)[number];

/**
 * One collection, as data: its list endpoint and its get-one; path, fields and table are the catalogue's. In the SQL `r` is
 * the row, `c` the joined row, `@env` the environment, `@id` the id of the parent in the path and `@week` the time a week ago.
 */
export interface CollectionListing {
  readonly entry: CollectionEntry<CollectionName>;
  readonly scope: ViewScope;
  /** What the description calls the schema of its items. */
  readonly item: string;
  /** What there is to say of it beyond its name. */
  readonly describe?: string;
  readonly join?: { readonly row: string; readonly on: string };
  /** Which rows there are at all: an index leads to them. */
  readonly baseFilter?: string;
  /** Which of them show; it may be few of many. */
  readonly visibleIf?: string;
  /**
   * The row that has the times the feeds go by: its `mirrored_at` is served as `synced_at`, or as `deleted_at` when it is
   * deleted. Rows of a collection without one have no feeds.
   */
  readonly feedClock?: 'r' | 'c';
  /** The ids of the assets a reader has to see to see the row. */
  readonly assets: readonly string[];
  readonly filters: ArrayFilters;
  /** The values of `order_by` and what they sort by, the default first; the key breaks ties. */
  readonly orders: Readonly<Record<string, readonly string[]>>;
  /** A value to sort by that a row may be without. */
  readonly nullable?: string;
  /** The default of `direction`. */
  readonly direction: 'asc' | 'desc';
  /** What `disabled` left out or `false` shows, and `true`; a feed shows both. `leads`: an index by id holds those alone. */
  readonly disabled?: { readonly without: string; readonly only: string; readonly leads?: true };
  /** The time that `start_time_from` and `start_time_to` bound. */
  readonly window?: string;
  /** Whose row has to be there and visible, else 404. */
  readonly parent?: CollectionListing;
  /** A single item, by the last parameter of its path. */
  readonly one?: { readonly parameter: string; readonly by: string };
  /** Whether a row tells by itself whether it shows, and holds all that its item does. */
  readonly alone?: true;
  /** Texts that are none when they are empty. */
  readonly emptyIsNull?: readonly string[];
  /** Fields without a value: shown as null or left out. */
  readonly nulls: 'shown' | 'left out';
}

const ASSET_FILTERS: ArrayFilters = {
  ids: oneOfIndexed('r.id', 'Only assets with these ids'),
  source_types: oneOf('r.source_type', 'Such as `dbt`, `fivetran`'),
  tags: tagged,
  path: underPath,
};

export const TABLE_FILTERS: ArrayFilters = {
  ...ASSET_FILTERS,
  db_names: oneOf('r.db_name', 'Only those of these databases'),
  schema_names: oneOf('r.schema_name', 'Only those of these schemas'),
  materializations: oneOf('r.materialization', 'Such as `table`, `view`, `incremental`'),
};

const timed = {
  feedClock: 'r',
  alone: true,
  orders: { id: ['r.id'], synced_at: ['r.mirrored_at', 'r.id'] },
  direction: 'asc',
} as const satisfies Partial<CollectionListing>;

/**
 * A row that is known by its deletion alone, or by its key until its typed stream is read, lacks what every item has. `+` keeps
 * SQLite from looking for such rows by an index: most have it all.
 */
const complete = ({ fields }: CollectionEntry): string =>
  Object.entries(fields)
    .filter(([name, field]) => field.required && name !== 'id')
    .map(([name]) => `+r.${name} is not null`)
    .join(' and ');

const parentTest = (condition: string) =>
  `(select 1 from tests p where p.env_id = r.env_id and p.id = r.test_id and ${condition})`;

const ASSET_OF_TEST = '(select p.asset_id from tests p where p.env_id = r.env_id and p.id = r.test_id)';

const asset = (id: string, condition: string) =>
  `(select 1 from assets a where a.env_id = r.env_id and a.id = ${id} and ${condition})`;

const liveAsset = (id: string) => `exists ${asset(id, 'a.deleted_at is null')}`;

/** A score is older than what is known of its asset, by an hour at times. */
const liveTable = (id: string) => `exists ${asset(id, "a.deleted_at is null and a.kind = 'table'")}`;

const ASSET = {
  scope: 'assets',
  assets: ['r.id'],
  one: { parameter: 'asset_id', by: 'r.id' },
  nulls: 'shown',
} as const satisfies Partial<CollectionListing>;

export const TABLE_ASSETS: CollectionListing = {
  entry: tableAssets,
  ...ASSET,
  ...timed,
  item: 'TableAsset',
  baseFilter: "r.kind = 'table'",
  visibleIf: complete(tableAssets),
  filters: TABLE_FILTERS,
};

const TESTS: CollectionListing = {
  entry: tests,
  ...timed,
  scope: 'tests',
  item: 'Test',
  visibleIf: complete(tests),
  assets: ['r.asset_id'],
  filters: {
    ids: oneOfIndexed('r.id', 'Only tests with these ids'),
    asset_ids: oneOfIndexed('r.asset_id', 'Only tests on these assets'),
    test_types: oneOf('r.test_type', 'Only tests of these types'),
    definition_types: oneOf('r.definition_type', 'Only tests of these definition types'),
    source_types: oneOf('r.source_type', 'Such as `dbt`'),
    tags: tagged,
  },
  disabled: { without: 'r.disabled is not 1', only: 'r.disabled = 1', leads: true },
  one: { parameter: 'test_id', by: 'r.id' },
  nulls: 'left out',
};

/** For each stream, how it is served, or that it is not. */
const LISTING_OF: Readonly<Record<CollectionName, CollectionListing | 'not served'>> = {
  assets: {
    entry: assets,
    ...ASSET,
    ...timed,
    item: 'Asset',
    describe: 'Assets of every kind, with the fields common to all.',
    visibleIf: complete(assets),
    filters: ASSET_FILTERS,
  },
  table_assets: TABLE_ASSETS,
  bi_assets: {
    entry: biAssets,
    ...ASSET,
    ...timed,
    item: 'BiAsset',
    baseFilter: "r.kind = 'bi'",
    visibleIf: complete(biAssets),
    filters: { ...ASSET_FILTERS, bi_platforms: oneOf('r.bi_platform', 'Such as `looker`, `tableau`') },
  },
  columns: {
    entry: columns,
    ...timed,
    scope: 'assets',
    item: 'Column',
    visibleIf: complete(columns),
    assets: ['r.asset_id'],
    filters: {
      ids: oneOfIndexed('r.id', 'Only columns with these ids'),
      asset_ids: oneOfIndexed('r.asset_id', 'Only columns of these assets'),
      data_types: oneOf('r.data_type', 'Only columns of these data types'),
    },
    one: { parameter: 'column_id', by: 'r.id' },
    nulls: 'left out',
  },
  tests: TESTS,
  test_executions: {
    entry: testExecutions,
    scope: 'tests',
    item: 'TestExecution',
    describe: 'Executions of a test, the most recent first.',
    emptyIsNull: ['description'],
    baseFilter: 'r.test_id = @id',
    parent: TESTS,
    assets: [],
    filters: {
      sub_test_ids: oneOf('r.sub_test_unique_id', 'Only executions of these sub-tests'),
      statuses: oneOf('r.status', 'Such as `PASS`, `FAIL`'),
    },
    orders: {
      start_time: ['r.start_time', 'r.id', 'r.sub_test_unique_id'],
      id: ['r.id', 'r.sub_test_unique_id'],
    },
    direction: 'desc',
    window: 'r.start_time',
    one: { parameter: 'execution_id', by: 'r.id' },
    nulls: 'shown',
  },
  asset_lineage: {
    entry: assetLineage,
    scope: 'assets',
    item: 'AssetLineageEdge',
    visibleIf: `${liveAsset('r.upstream_asset_id')} and ${liveAsset('r.downstream_asset_id')}`,
    assets: ['r.upstream_asset_id', 'r.downstream_asset_id'],
    filters: { asset_ids: touchingAsset },
    orders: { id: ['r.upstream_asset_id', 'r.downstream_asset_id'] },
    direction: 'asc',
    nulls: 'left out',
  },
  column_lineage: {
    entry: columnLineage,
    scope: 'assets',
    item: 'ColumnLineageEdge',
    // R18: a column takes its edges along, so the tombstones feed has nothing to show.
    describe: 'The edges of a deleted column go with it: follow the tombstones of the columns, there are none here.',
    join: { row: 'columns c', on: 'c.env_id = r.env_id and c.id = r.downstream_column_id' },
    feedClock: 'c',
    assets: ['c.asset_id'],
    filters: {
      column_ids: oneOfIndexed('r.downstream_column_id', 'Only edges into these columns'),
      asset_ids: intoAsset,
    },
    orders: {
      id: ['r.downstream_column_id', 'r.upstream_column_id'],
      synced_at: ['c.mirrored_at', 'c.id', 'r.upstream_column_id'],
    },
    direction: 'asc',
    nulls: 'left out',
  },
  latest_test_executions: {
    entry: latestTestExecutions,
    scope: 'tests',
    item: 'TestExecution',
    describe: 'The latest execution of every sub-test.',
    emptyIsNull: ['description'],
    visibleIf: `not exists ${parentTest('p.deleted_at is not null')}`,
    assets: [ASSET_OF_TEST],
    filters: {
      sub_test_ids: oneOfIndexed('r.sub_test_unique_id', 'Only these sub-tests'),
      test_ids: oneOfIndexed('r.test_id', 'Only sub-tests of these tests'),
      asset_ids: ofTestsOnAsset,
      test_types: ofTests('test_type', 'By the type of the test'),
      definition_types: ofTests('definition_type', 'By the definition type of the test'),
      source_types: ofTests('source_type', 'By the source type of the test, such as `dbt`'),
      statuses: oneOf('r.status', 'Such as `PASS`, `FAIL`'),
    },
    orders: { id: ['r.sub_test_unique_id'], synced_at: ['r.synced_at', 'r.sub_test_unique_id'] },
    nullable: 'r.synced_at',
    direction: 'asc',
    disabled: {
      without: `not exists ${parentTest('p.disabled = 1')}`,
      only: `exists ${parentTest('p.disabled = 1')}`,
    },
    one: { parameter: 'sub_test_unique_id', by: 'r.sub_test_unique_id' },
    nulls: 'shown',
  },
  asset_health_scores: {
    entry: assetHealthScores,
    scope: 'assets',
    item: 'AssetHealthScore',
    describe: 'The score of every table asset with test results in the last 7 days.',
    visibleIf: `r.bucket_at >= @week and ${liveTable('r.asset_id')}`,
    assets: ['r.asset_id'],
    filters: { asset_ids: oneOfIndexed('r.asset_id', 'Only the scores of these assets') },
    orders: { id: ['r.asset_id'] },
    direction: 'asc',
    one: { parameter: 'asset_id', by: 'r.asset_id' },
    nulls: 'left out',
  },
};

/** Every collection that is served, in the order of the description. */
export const LISTINGS: readonly CollectionListing[] = Object.values(LISTING_OF).filter((each) => each !== 'not served');
