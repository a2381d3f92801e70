import { describe, expect, test } from 'vitest';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { SYNC_TIMES } from '../../src/metrics/measurements.ts';
import { type CollectionListing, LISTINGS } from '../../src/server/listings.ts';
import { SELECT_STATE } from '../../src/server/replacement-check.ts';
import { insertMany, serve } from './fixture.ts';
import { type RequestCase, requestCases } from './request-cases.ts';

/** Steps that no index answers, and why they cost no more than a page. */
const EXCEPTIONS: readonly { readonly of: string; readonly step: string; readonly because: string }[] = [
  {
    of: 'column_lineage',
    step: 'USE TEMP B-TREE FOR LAST TERM OF ORDER BY',
    because: 'the edges of one column are sorted among themselves: they are few',
  },
  {
    of: 'test_executions',
    step: 'USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY',
    because: 'the executions of one test and instant are sorted among themselves: they are few',
  },
  {
    of: 'test_executions',
    step: 'USE TEMP B-TREE FOR ORDER BY',
    because: 'by id, the executions of one test and window are sorted: they are few, and the service has no use for it',
  },
];

function stepsOf({ connection }: MirrorFile, { statement: { sql, values } }: RequestCase): string[] {
  const rows = connection.prepare(`explain query plan ${sql}`).all(values) as { detail: string }[];
  return rows.map(({ detail }) => detail);
}

/** Only what is not a table may be scanned: the values of a filter, a row's tags, rows already found. */
const isScan = (step: string) =>
  /^SCAN (?!\(subquery|.*VIRTUAL TABLE|CONSTANT ROW|ancestors)/.test(step) || step.includes('AUTOMATIC');

/** A search that every row of an environment, or of one kind in it, matches. */
const isWalk = (step: string) => /\(env_id=\?(?: AND kind=\?)?\)(?: LEFT-JOIN)?$/.test(step);

/** A search by anything other than the values of the index path. */
const isAstray = (step: string) => {
  const [, conditions = ''] = /^SEARCH .*\((.*)\)/.exec(step) ?? [];
  return conditions !== '' && !/(?<!\b(?:env_id|kind))=\?/.test(conditions);
};

/** Values collected again for each row: too slow with more than a few of either. */
const isGatheredAgain = (step: string) => step.startsWith('CORRELATED LIST SUBQUERY');

/** Two lists of values on one index are looked up pair by pair. */
const isProduct = (step: string) =>
  step.startsWith('SEARCH r ') && [...step.matchAll(/(?<!\b(?:env_id|kind))=\?/g)].length > 1;

const isSort = (step: string) => step.startsWith('USE TEMP B-TREE');

function problemsOf(mirror: MirrorFile, { entry }: CollectionListing, requestCase: RequestCase): string[] {
  const { name, usesIndexPath, isContinued } = requestCase;
  const allowed = EXCEPTIONS.filter(({ of }) => of === entry.name).map(({ step }) => step);
  return stepsOf(mirror, requestCase)
    .filter((step) => !allowed.includes(step))
    .filter(
      (step) =>
        isScan(step) ||
        isGatheredAgain(step) ||
        (usesIndexPath ? isAstray(step) || isProduct(step) : isSort(step) || (isContinued && isWalk(step))),
    )
    .map((step) => `${name}: ${step}`);
}

/** Many rows, most of which have the same values in all indexed columns. */
function fillSkewed(mirror: MirrorFile): void {
  const skewed = {
    env_id: "iif(i % 100 = 0, 'f', 'e')",
    mirrored_at: "printf('2026-11-%02dT00:00:00.000000Z', 1 + i / 1000)",
  };
  const many = (table: string, rows: number, values: Readonly<Record<string, string>>) =>
    insertMany(mirror, table, rows, { ...skewed, ...values });
  const deleted = "iif(i % 50 = 0, '2026-11-01T00:00:00.000000Z', null)";
  many('assets', 3000, { id: "'a' || i", name: "'n'", kind: "iif(i % 300 = 0, 'bi', 'table')", deleted_at: deleted });
  many('columns', 9000, {
    id: "'c' || i",
    name: "'n'",
    asset_id: "'a' || iif(i < 8000, 1, i % 900)",
    deleted_at: deleted,
  });
  many('tests', 3000, {
    id: "'t' || i",
    asset_id: "'a' || iif(i < 1000, 1, i)",
    disabled: 'i % 20 = 0',
    deleted_at: deleted,
  });
  many('asset_lineage', 3000, { upstream_asset_id: "'a' || iif(i < 1000, 1, i)", downstream_asset_id: "'a' || i" });
  many('column_lineage', 3000, { upstream_column_id: "'c' || i % 9", downstream_column_id: "'c' || i" });
  many('asset_health_scores', 2000, { asset_id: "'a' || i", score: '1', test_count: '1', bucket_at: "'2026'" });
  const execution = {
    id: "'e' || i",
    sub_test_unique_id: "'s' || i",
    sub_type: "'n'",
    status: "'PASS'",
    start_time: "'2026'",
    duration_seconds: '1',
  };
  many('latest_test_executions', 3000, {
    ...execution,
    test_id: "'t' || i",
    synced_at: "iif(i % 9 = 0, '2026', null)",
  });
  many('test_executions', 6000, { ...execution, test_id: "'t' || iif(i < 3000, 1, i)" });
}

describe.each([
  ['a new mirror', () => {}],
  [
    'a mirror with SQLite statistics',
    (mirror: MirrorFile) => {
      fillSkewed(mirror);
      mirror.connection.exec('analyze');
    },
  ],
])('the queries of the API in %s', (_, fill) => {
  const { mirror } = serve(fill);

  test.each(LISTINGS.map((listing) => [listing.entry.name, listing] as const))(
    'a page of 2000 of %s needs no full scan and no full sort, and a single item is looked up',
    (_name, listing) => {
      expect(requestCases(listing).flatMap((requestCase) => problemsOf(mirror, listing, requestCase))).toEqual([]);
    },
  );

  test.each([
    ['the age of the last sync', SYNC_TIMES.lastSync, 'sync_runs_done'],
    ['the time of the source', SELECT_STATE, 'sync_runs_timed'],
  ])('%s is looked up by an index, however many runs there were', (_what, sql, index) => {
    const steps = mirror.connection.prepare(`explain query plan ${sql}`).all() as { detail: string }[];
    const runs = steps.map(({ detail }) => detail).filter((step) => step.includes('sync_runs'));
    expect(runs).toEqual([expect.stringContaining(`INDEX ${index}`)]);
  });

  test.each(EXCEPTIONS)('$of needs its exception: $because', ({ of, step }) => {
    const cases = LISTINGS.filter(({ entry }) => entry.name === of).flatMap(requestCases);
    expect(cases.some((requestCase) => !requestCase.usesIndexPath && stepsOf(mirror, requestCase).includes(step))).toBe(
      true,
    );
  });
});
