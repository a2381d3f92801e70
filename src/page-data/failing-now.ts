import { FAILING } from '../../schema/data-tests.ts';
import { lineageOf, NO_REACH, rankByReach, type VisibleLineage } from './asset-graph.ts';
import { elementsOf, labelsOf } from './labels.ts';
import type { FailingNow, FailingSubTest } from './page-data.ts';
import { numberOf, type PageReads, type PageScope, seen, textOf, valuesIn } from './page-scope.ts';
import { cacheBySignature, clockSignature } from './signature-cache.ts';
import { type SqlRow, selectValues } from './sql.ts';
import { rankOf } from './status-order.ts';

/** The part of a long list to show. */
export interface PageRange {
  readonly limit: number;
  readonly offset: number;
}

/** The failing sub-tests, worst first: by status, severity, and number of downstream assets. */
export function failingNow(reads: PageReads, scope: PageScope, { limit, offset }: PageRange): FailingNow {
  const found = rankedFailing(reads, scope);
  const shown = found.slice(offset, offset + limit);
  const lineage = lineageOf(reads, scope);
  return { total: found.length, rows: withDetails(reads, scope, { shown, found, lineage }) };
}

/** Lists cached per mirror, one per reader and environment. A list may hold thousands of tests. */
const MAX_CACHED = 8;

/** All failing sub-tests, worst first, until a commit moves the environment's clock (R21). */
const rankedFailing = cacheBySignature(MAX_CACHED, clockSignature, (reads, scope): readonly FailingKey[] => {
  const found = findFailing(reads, scope);
  const reach = reachOf(lineageOf(reads, scope), found);
  return found
    .map((row) => ({ ...row, reach: reach.get(row.asset ?? '') ?? -1 }))
    .sort((a, b) => bySeverity(a, b) || b.reach - a.reach || byName(a, b));
});

/** The fields of a failing sub-test that decide its rank. */
interface FailingKey {
  readonly key: string;
  readonly test: string;
  readonly testName: string;
  readonly asset: string | null;
  readonly status: string;
  readonly severity: string | null;
}

const keyOf = (row: SqlRow): string => JSON.stringify([row['test_id'], row['sub_test_unique_id']]);

function findFailing(reads: PageReads, scope: PageScope): FailingKey[] {
  // The view alone would look up the results of every test, not only those that fail.
  const tests = reads.texts({
    sql: `select distinct test_id from latest_test_executions where env_id = @env and status in ${FAILING}`,
    values: { env: scope.env },
  });
  const rows = reads.rows({
    sql: `select test_id, test_name, sub_test_unique_id, asset_id, status, severity from failing_tests
      where ${seen(scope, { env: 'env_id', asset: 'asset_id' })} and test_id in ${selectValues('tests')}`,
    values: valuesIn(scope, { tests: JSON.stringify(tests) }),
  });
  return rows.map((row) => ({
    key: keyOf(row),
    test: String(row['test_id']),
    testName: textOf(row['test_name']) ?? '',
    asset: textOf(row['asset_id']),
    status: String(row['status']),
    severity: textOf(row['severity']),
  }));
}

const reachOf = (lineage: VisibleLineage, found: readonly FailingKey[]): ReadonlyMap<string, number> =>
  new Map(rankByReach(lineage, assetsOf(found)).map(({ id, reach }) => [id, reach?.downstream_count ?? -1]));

const assetsOf = (found: readonly FailingKey[]): string[] => [
  ...new Set(found.flatMap(({ asset }) => (asset === null ? [] : [asset]))),
];

function bySeverity(a: FailingKey, b: FailingKey): number {
  const severe = ({ severity }: FailingKey): number => Number(severity !== 'ERROR');
  return rankOf(a.status) - rankOf(b.status) || severe(a) - severe(b);
}

function byName(a: FailingKey, b: FailingKey): number {
  return a.testName === b.testName ? (a.key < b.key ? -1 : 1) : a.testName < b.testName ? -1 : 1;
}

interface FailingPage {
  readonly shown: readonly FailingKey[];
  readonly found: readonly FailingKey[];
  readonly lineage: VisibleLineage;
}

function withDetails(reads: PageReads, scope: PageScope, { shown, found, lineage }: FailingPage): FailingSubTest[] {
  const tests = [...new Set(shown.map(({ test }) => test))];
  const assets = assetsOf(shown);
  const details = readDetails(reads, scope, tests);
  const causes = causesOf(lineage, found, assets);
  const label = labelsOf(reads, scope, [...assets, ...[...causes.values()].map(({ asset }) => asset)]);
  const since = readSince(reads, scope, tests);
  const histories = readHistories(reads, scope, tests);
  const testOwners = elementsOf(reads, scope, { list: 'testOwners', ids: tests });
  const assetOwners = elementsOf(reads, scope, { list: 'assetOwners', ids: assets });
  const reached = new Map(assets.map((id) => [id, lineage.countDownstream(id)]));
  return shown.flatMap(({ key, test, asset }) => {
    const row = details.get(key);
    if (row === undefined) return [];
    const cause = causes.get(asset ?? '');
    return {
      ...detailFields(row),
      since: since.get(key) ?? textOf(row['start_time']),
      asset: asset === null ? null : label(asset),
      owners: testOwners.get(test) ?? assetOwners.get(asset ?? '') ?? [],
      ...(reached.get(asset ?? '') ?? NO_REACH),
      cause:
        cause === undefined
          ? null
          : { ...label(cause.asset), depth: cause.depth, test_id: cause.test, test_name: cause.testName },
      history: histories.get(key) ?? [],
    };
  });
}

function detailFields(row: SqlRow) {
  return {
    test_id: String(row['test_id']),
    test_name: textOf(row['test_name']) ?? '',
    test_type: textOf(row['test_type']),
    severity: textOf(row['severity']),
    sub_test_unique_id: String(row['sub_test_unique_id']),
    column_name: textOf(row['column_name']),
    quality_dimension: textOf(row['quality_dimension']),
    status: String(row['status']),
    failure_count: numberOf(row['failure_count']),
    result_reason: textOf(row['result_reason']),
    exception: textOf(row['exception']),
  };
}

function readDetails(reads: PageReads, { env }: PageScope, tests: readonly string[]): ReadonlyMap<string, SqlRow> {
  const rows = reads.rows({
    sql: `select test_id, test_name, test_type, severity, sub_test_unique_id, column_name, quality_dimension, status,
      failure_count, result_reason, exception, start_time
      from failing_tests where env_id = @env and test_id in ${selectValues('tests')}`,
    values: { env, tests: JSON.stringify(tests) },
  });
  return new Map(rows.map((row) => [keyOf(row), row]));
}

/** The start of the open incident of each sub-test. */
function readSince(reads: PageReads, { env }: PageScope, tests: readonly string[]): ReadonlyMap<string, string> {
  const rows = reads.rows({
    sql: `select test_id, sub_test_unique_id, first_start_time from test_incidents
      where env_id = @env and test_id in ${selectValues('tests')} and resolved_at is null`,
    values: { env, tests: JSON.stringify(tests) },
  });
  return new Map(rows.map((row) => [keyOf(row), String(row['first_start_time'])]));
}

const MAX_SHOWN_RUNS = 30;
const MAX_READ_RUNS = 3000;

/** The last runs of the failing sub-tests. A test's runs are adjacent in an index: one range scan for all sub-tests. */
function readHistories(
  reads: PageReads,
  { env }: PageScope,
  tests: readonly string[],
): ReadonlyMap<string, FailingSubTest['history']> {
  const histories = new Map<string, { start_time: string; status: string }[]>();
  for (const test of tests) {
    const rows = reads.rows({
      sql: `select test_id, sub_test_unique_id, start_time, status from test_executions
        where env_id = @env and test_id = @test order by start_time desc
        limit min(${MAX_READ_RUNS}, ${MAX_SHOWN_RUNS} * (select count(*) from latest_test_executions
          where env_id = @env and test_id = @test))`,
      values: { env, test },
    });
    for (const row of rows) {
      const history = histories.get(keyOf(row)) ?? [];
      histories.set(keyOf(row), history);
      if (history.length < MAX_SHOWN_RUNS)
        history.unshift({ start_time: String(row['start_time']), status: String(row['status']) });
    }
  }
  return histories;
}

interface ProbableCause {
  readonly asset: string;
  readonly depth: number;
  readonly test: string;
  readonly testName: string;
}

/** The nearest failing ancestor of each asset; if there are several, the one with the worst failing test. */
function causesOf(
  lineage: VisibleLineage,
  found: readonly FailingKey[],
  assets: readonly string[],
): ReadonlyMap<string, ProbableCause> {
  const worst = new Map<string, FailingKey>();
  for (const each of found) {
    const known = worst.get(each.asset ?? '');
    if (each.asset !== null && (known === undefined || (bySeverity(each, known) || byName(each, known)) < 0))
      worst.set(each.asset, each);
  }
  const failing = lineage.flagged([...worst.keys()]);
  return new Map(
    assets.flatMap((id): [string, ProbableCause][] => {
      const nearest = lineage.nearest(id, failing);
      const [first] = (nearest?.ids ?? [])
        .flatMap((asset) => worst.get(asset) ?? [])
        .sort((a, b) => bySeverity(a, b) || byName(a, b));
      if (nearest === null || first?.asset == null) return [];
      return [[id, { asset: first.asset, depth: nearest.depth, test: first.test, testName: first.testName }]];
    }),
  );
}
