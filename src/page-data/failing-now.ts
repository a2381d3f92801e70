import { FAILING } from '../../schema/data-tests.ts';
import { lineageOf, NO_REACH, rankByReach, type VisibleLineage } from './asset-graph.ts';
import { elementsOf, labelsOf } from './labels.ts';
import type { FailingNow, FailingSubTest, OtherSubTests, ReachCount } from './page-data.ts';
import { type PageScope, seen, selectOne, selectRows, selectTexts } from './page-scope.ts';
import { cacheBySignature, clockSignature } from './signature-cache.ts';
import { selectValues } from './sql.ts';
import { rankOf } from './status-order.ts';

/** The part of a long list to show. */
export interface PageRange {
  readonly limit: number;
  readonly offset: number;
}

/** The failing sub-tests, worst first: by status, severity, and number of downstream assets. */
export function failingNow(scope: PageScope, { limit, offset }: PageRange): FailingNow {
  const found = rankedFailing(scope);
  const others = found.length === 0 ? countOthers(scope) : null;
  return { total: found.length, others, rows: withDetails(scope, found.slice(offset, offset + limit), found) };
}

/** Lists cached per mirror, one per reader and environment. A list may hold thousands of tests. */
const MAX_CACHED = 8;

/** All failing sub-tests, worst first, until a commit moves the environment's clock (R21). */
const rankedFailing = cacheBySignature(MAX_CACHED, clockSignature, (scope): readonly RankedSubTest[] => {
  const found = findFailing(scope);
  const ranked = rankByReach(lineageOf(scope), assetsOf(found));
  const reach = new Map(ranked.map((asset) => [asset.id, asset.reach?.downstream_count ?? -1]));
  return found
    .map((row) => ({ ...row, reach: reach.get(row.asset_id ?? '') ?? -1 }))
    .sort((a, b) => bySeverity(a, b) || b.reach - a.reach || byName(a, b));
});

const countOthers = cacheBySignature(MAX_CACHED, clockSignature, (scope): OtherSubTests => {
  const sql = `select count(*) filter (where status = 'PASS') as passed,
      count(*) filter (where status is not 'PASS') as without_verdict
    from test_status where ${seen(scope, 'asset_id')}`;
  return selectOne<OtherSubTests>(scope, sql);
});

type SubTestKey = Pick<FailingSubTest, 'test_id' | 'sub_test_unique_id'>;

const keyOf = ({ test_id, sub_test_unique_id }: SubTestKey): string => JSON.stringify([test_id, sub_test_unique_id]);

/** The fields of a failing sub-test that decide its rank. */
interface RankedSubTest extends SubTestKey, Pick<FailingSubTest, 'test_name' | 'status' | 'severity'> {
  readonly asset_id: string | null;
}

function findFailing(scope: PageScope): readonly RankedSubTest[] {
  // The view alone would look up the results of every test, not only those that fail.
  const failing = `select distinct test_id from latest_test_executions where env_id = @env and status in ${FAILING}`;
  const tests = selectTexts(scope, failing);
  const sql = `select test_id, coalesce(test_name, '') as test_name, sub_test_unique_id, status, severity, asset_id
    from failing_tests where ${seen(scope, 'asset_id')} and test_id in ${selectValues('tests')}`;
  return selectRows<RankedSubTest>(scope, sql, { tests });
}

const assetsOf = (found: readonly RankedSubTest[]): string[] => [
  ...new Set(found.flatMap(({ asset_id }) => asset_id ?? [])),
];

function bySeverity(a: RankedSubTest, b: RankedSubTest): number {
  const severe = ({ severity }: RankedSubTest): number => Number(severity !== 'ERROR');
  return rankOf(a.status) - rankOf(b.status) || severe(a) - severe(b);
}

function byName(a: RankedSubTest, b: RankedSubTest): number {
  return a.test_name === b.test_name ? (keyOf(a) < keyOf(b) ? -1 : 1) : a.test_name < b.test_name ? -1 : 1;
}

function withDetails(scope: PageScope, shown: readonly RankedSubTest[], found: readonly RankedSubTest[]) {
  const lineage = lineageOf(scope);
  const tests = [...new Set(shown.map(({ test_id }) => test_id))];
  const assets = assetsOf(shown);
  const details = readDetails(scope, tests);
  const causes = causesOf(lineage, found, assets);
  const label = labelsOf(scope, [...assets, ...[...causes.values()].map(({ asset }) => asset)]);
  const since = readSince(scope, tests);
  const histories = readHistories(scope, tests);
  const testOwners = elementsOf(scope, 'testOwners', tests);
  const assetOwners = elementsOf(scope, 'assetOwners', assets);
  const reached = new Map<string | null, ReachCount>(assets.map((id) => [id, lineage.countDownstream(id)]));
  return shown.flatMap((subTest) => {
    const { test_id, asset_id } = subTest;
    const key = keyOf(subTest);
    const row = details.get(key);
    if (row === undefined) return [];
    const { start_time, ...detail } = row;
    const probable = causes.get(asset_id ?? '');
    return {
      ...detail,
      since: since.get(key) ?? start_time,
      asset: asset_id === null ? null : label(asset_id),
      owners: testOwners.get(test_id) ?? assetOwners.get(asset_id ?? '') ?? [],
      ...(reached.get(asset_id) ?? NO_REACH),
      cause: probable === undefined ? null : { ...label(probable.asset), ...probable.cause },
      history: histories.get(key) ?? [],
    };
  });
}

type SubTestDetail = Omit<FailingSubTest, 'since' | 'asset' | 'owners' | 'cause' | 'history' | keyof ReachCount> & {
  readonly start_time: string | null;
};

function readDetails(scope: PageScope, tests: readonly string[]): ReadonlyMap<string, SubTestDetail> {
  const sql = `select test_id, coalesce(test_name, '') as test_name, test_type, severity, sub_test_unique_id, column_name,
      quality_dimension, status, failure_count, result_reason, exception, start_time
    from failing_tests where env_id = @env and test_id in ${selectValues('tests')}`;
  return new Map(selectRows<SubTestDetail>(scope, sql, { tests }).map((row) => [keyOf(row), row]));
}

/** The start of the open incident of each sub-test. */
function readSince(scope: PageScope, tests: readonly string[]): ReadonlyMap<string, string> {
  const sql = `select test_id, sub_test_unique_id, first_start_time as since from test_incidents
    where env_id = @env and test_id in ${selectValues('tests')} and resolved_at is null`;
  const rows = selectRows<SubTestKey & { readonly since: string }>(scope, sql, { tests });
  return new Map(rows.map((row) => [keyOf(row), row.since]));
}

const MAX_SHOWN_RUNS = 30;
const MAX_READ_RUNS = 3000;

/** The last runs of the failing sub-tests. A test's runs are adjacent in an index: one range scan for all sub-tests. */
function readHistories(scope: PageScope, tests: readonly string[]): ReadonlyMap<string, FailingSubTest['history']> {
  const sql = `select test_id, sub_test_unique_id, start_time, status from test_executions
    where env_id = @env and test_id = @test order by start_time desc
    limit min(${MAX_READ_RUNS}, ${MAX_SHOWN_RUNS} * (select count(*) from latest_test_executions
      where env_id = @env and test_id = @test))`;
  const runs = tests.flatMap((test) =>
    selectRows<SubTestKey & FailingSubTest['history'][number]>(scope, sql, { test }),
  );
  const newestFirst = [...Map.groupBy(runs, keyOf)];
  return new Map(
    newestFirst.map(([key, own]) => {
      const shown = own.slice(0, MAX_SHOWN_RUNS).reverse();
      return [key, shown.map(({ start_time, status }) => ({ start_time, status }))];
    }),
  );
}

/** The nearest failing ancestor of each asset; if there are several, the one with the worst failing test. */
function causesOf(lineage: VisibleLineage, found: readonly RankedSubTest[], assets: readonly string[]) {
  // The sub-tests of one asset have the same reach, so the worst one comes first.
  const worst = new Map(found.toReversed().map((subTest) => [subTest.asset_id, subTest]));
  const failing = lineage.flagged(assetsOf(found));
  return new Map(
    assets.flatMap((id) => {
      const nearest = lineage.nearest(id, failing);
      const [first] = (nearest?.ids ?? [])
        .flatMap((asset) => worst.get(asset) ?? [])
        .sort((a, b) => bySeverity(a, b) || byName(a, b));
      if (nearest === null || first?.asset_id == null) return [];
      const { asset_id: asset, test_id, test_name } = first;
      return [[id, { asset, cause: { depth: nearest.depth, test_id, test_name } }] as const];
    }),
  );
}
