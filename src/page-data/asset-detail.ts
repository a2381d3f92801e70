import { elementsOf } from './labels.ts';
import type { AssetColumns, AssetDetail, AssetLabel, AssetTest } from './page-data.ts';
import { type PageScope, seen, selectRows } from './page-scope.ts';
import { QUALIFIED_NAME } from './search-assets.ts';
import { rankOf, worseStatus } from './status-order.ts';

/** The columns of a live asset; undefined if it does not exist or the reader may not see it. */
function selectAsset<Row>(scope: PageScope, id: string, columns: string): Row | undefined {
  const sql = `select ${columns} from live_assets where ${seen(scope, 'id')} and id = @id`;
  return selectRows<Row>(scope, sql, { id })[0];
}

const COLUMN_COUNT = '(select count(*) from live_columns c where c.env_id = @env and c.asset_id = @id)';

type SelectedAsset = Pick<AssetLabel, 'name' | 'kind'> &
  Pick<AssetDetail, 'qualified_name' | 'path' | 'platform' | 'description' | 'url' | 'updated_at' | 'column_count'>;

/** A live asset; null if it does not exist or the reader may not see it. */
export function assetDetail(scope: PageScope, { id }: { readonly id: string }): AssetDetail | null {
  const columns = `name, kind, ${QUALIFIED_NAME} as qualified_name, path,
    coalesce(data_platform, bi_platform) as platform, description, url, updated_at, ${COLUMN_COUNT} as column_count`;
  const row = selectAsset<SelectedAsset>(scope, id, columns);
  if (row === undefined) return null;
  const { name, kind, updated_at, column_count, ...texts } = row;
  const tests = scope.seesTests ? readTests(scope, id) : null;
  return {
    asset: { id, name, kind },
    ...texts,
    owners: elementsOf(scope, 'assetOwners', [id]).get(id) ?? [],
    tags: elementsOf(scope, 'assetTags', [id]).get(id) ?? [],
    updated_at,
    column_count,
    scores: readScores(scope, id),
    tests: tests?.slice(0, MAX_TESTS) ?? null,
    test_count: tests?.length ?? null,
  };
}

const MAX_TESTS = 200;

/** The total comes first, then the dimensions by name. */
function readScores(scope: PageScope, id: string): AssetDetail['scores'] {
  const sql = `select dimension, score from (
      select 'total' as dimension, score, 0 as place from asset_health_scores where env_id = @env and asset_id = @id
      union all
      select dimension, score, 1 from asset_health_score_dimensions where env_id = @env and asset_id = @id)
    order by place, dimension`;
  return selectRows<AssetDetail['scores'][number]>(scope, sql, { id });
}

/** The tests of an asset, failing ones first. A test has the worst status of its sub-tests. */
function readTests(scope: PageScope, id: string): AssetTest[] {
  const sql = `select test_id, coalesce(test_name, '') as test_name, test_type, severity, column_name, status, start_time
    from test_status where env_id = @env and asset_id = @id`;
  const subTests = Map.groupBy(selectRows<AssetTest>(scope, sql, { id }), ({ test_id }) => test_id);
  return [...subTests.values()]
    .map((rows) => rows.reduce(mergeSubTests))
    .sort(
      (a, b) => rankOf(a.status) - rankOf(b.status) || (a.test_name + a.test_id < b.test_name + b.test_id ? -1 : 1),
    );
}

const mergeSubTests = (one: AssetTest, other: AssetTest): AssetTest => ({
  ...one,
  column_name: one.column_name === other.column_name ? one.column_name : null,
  status: worseStatus(one.status, other.status),
  start_time: later(one.start_time, other.start_time),
});

const later = (one: string | null, other: string | null): string | null =>
  one === null || (other !== null && other > one) ? other : one;

const MAX_COLUMNS = 200;

/** The columns of a live asset; null if it does not exist or the reader may not see it. */
export function assetColumns(
  scope: PageScope,
  { asset_id: id, offset }: { readonly asset_id: string; readonly offset: number },
): AssetColumns | null {
  const asset = selectAsset<Pick<AssetColumns, 'total'>>(scope, id, `${COLUMN_COUNT} as total`);
  if (asset === undefined) return null;
  const sql = `select id, coalesce(c.name, '') as name, data_type, ${scope.seesTests ? 'coalesce(tests, 0)' : 'null'} as tests
    from live_columns c
    left join (select lower(column_name) as tested, count(distinct test_id) as tests from test_status
      where env_id = @env and asset_id = @id and column_name is not null group by 1) on tested = lower(c.name)
    where env_id = @env and asset_id = @id order by c.name, id limit ${MAX_COLUMNS} offset @offset`;
  return { ...asset, rows: selectRows<AssetColumns['rows'][number]>(scope, sql, { id, offset }) };
}
