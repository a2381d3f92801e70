import { elementsOf } from './labels.ts';
import type { AssetColumns, AssetDetail, AssetTest } from './page-data.ts';
import { numberOf, type PageReads, type PageScope, seen, textOf, valuesIn } from './page-scope.ts';
import { QUALIFIED_NAME } from './search-assets.ts';
import { rankOf, worseStatus } from './status-order.ts';

/** A live asset; null if it does not exist or the reader may not see it. */
export function assetDetail(reads: PageReads, scope: PageScope, id: string): AssetDetail | null {
  const [row] = reads.rows({
    sql: `select name, kind, path, ${QUALIFIED_NAME} as qualified_name, data_platform, bi_platform, description, url, updated_at,
        (select count(*) from live_columns c where c.env_id = @env and c.asset_id = @id) as columns
      from live_assets where ${seen(scope, { env: 'env_id', asset: 'id' })} and id = @id`,
    values: valuesIn(scope, { id }),
  });
  if (row === undefined) return null;
  const tests = scope.seesTests ? readTests(reads, scope, id) : null;
  return {
    asset: { id, name: textOf(row['name']), kind: textOf(row['kind']) },
    qualified_name: textOf(row['qualified_name']),
    path: textOf(row['path']),
    platform: textOf(row['data_platform'] ?? row['bi_platform']),
    description: textOf(row['description']),
    url: textOf(row['url']),
    owners: elementsOf(reads, scope, { list: 'assetOwners', ids: [id] }).get(id) ?? [],
    tags: elementsOf(reads, scope, { list: 'assetTags', ids: [id] }).get(id) ?? [],
    updated_at: textOf(row['updated_at']),
    column_count: Number(row['columns']),
    scores: readScores(reads, scope, id),
    tests: tests?.slice(0, MAX_TESTS) ?? null,
    test_count: tests?.length ?? null,
  };
}

const MAX_TESTS = 200;

/** The total comes first, then the dimensions by name. */
function readScores(reads: PageReads, { env }: PageScope, id: string): AssetDetail['scores'] {
  const rows = reads.rows({
    sql: `select 'total' as dimension, score, 0 as place from asset_health_scores where env_id = @env and asset_id = @id
      union all
      select dimension, score, 1 from asset_health_score_dimensions where env_id = @env and asset_id = @id
      order by place, dimension`,
    values: { env, id },
  });
  return rows.map((row) => ({ dimension: String(row['dimension']), score: numberOf(row['score']) }));
}

/** The tests of an asset, failing ones first. A test has the worst status of its sub-tests. */
function readTests(reads: PageReads, { env }: PageScope, id: string): AssetTest[] {
  const rows = reads.rows({
    sql: `select test_id, test_name, test_type, severity, column_name, status, start_time from test_status
      where env_id = @env and asset_id = @id`,
    values: { env, id },
  });
  const tests = Map.groupBy(rows, (row) => String(row['test_id']));
  const found = [...tests].map(([test_id, subTests]): AssetTest => {
    const [first] = subTests;
    const columns = new Set(subTests.map((row) => textOf(row['column_name'])));
    return {
      test_id,
      test_name: textOf(first?.['test_name']) ?? '',
      test_type: textOf(first?.['test_type']),
      severity: textOf(first?.['severity']),
      column_name: columns.size === 1 ? textOf(first?.['column_name']) : null,
      status: subTests.map((row) => textOf(row['status'])).reduce(worseStatus, null),
      start_time: subTests.map((row) => textOf(row['start_time'])).reduce(later, null),
    };
  });
  return found.sort(
    (a, b) => rankOf(a.status) - rankOf(b.status) || (a.test_name + a.test_id < b.test_name + b.test_id ? -1 : 1),
  );
}

const later = (one: string | null, other: string | null): string | null =>
  one === null || (other !== null && other > one) ? other : one;

const MAX_COLUMNS = 200;

/** The columns of a live asset; null if it does not exist or the reader may not see it. */
export function assetColumns(
  reads: PageReads,
  scope: PageScope,
  { assetId, offset }: { readonly assetId: string; readonly offset: number },
): AssetColumns | null {
  const [asset] = reads.rows({
    sql: `select (select count(*) from live_columns c where c.env_id = @env and c.asset_id = @id) as columns
      from live_assets where ${seen(scope, { env: 'env_id', asset: 'id' })} and id = @id`,
    values: valuesIn(scope, { id: assetId }),
  });
  if (asset === undefined) return null;
  const rows = reads.rows({
    sql: `select id, name, lower(name) as lower_name, data_type from live_columns where env_id = @env and asset_id = @id
      order by name, id limit ${MAX_COLUMNS} offset @offset`,
    values: { env: scope.env, id: assetId, offset },
  });
  const tests = scope.seesTests ? countTests(reads, scope, assetId) : null;
  return {
    total: Number(asset['columns']),
    rows: rows.map((row) => ({
      id: String(row['id']),
      name: textOf(row['name']) ?? '',
      data_type: textOf(row['data_type']),
      tests: tests && (tests.get(String(row['lower_name'])) ?? 0),
    })),
  };
}

/** The number of enabled tests of each column, by the column's name in lower case. */
function countTests(reads: PageReads, { env }: PageScope, id: string): ReadonlyMap<string, number> {
  const rows = reads.rows({
    sql: `select lower(column_name) as name, count(distinct test_id) as tests from test_status
      where env_id = @env and asset_id = @id and column_name is not null group by 1`,
    values: { env, id },
  });
  return new Map(rows.map((row) => [String(row['name']), Number(row['tests'])]));
}
