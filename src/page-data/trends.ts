import { FAILING } from '../../schema/data-tests.ts';
import { addDays, type Instant } from '../core/time/instant.ts';
import { PASSED, RUN_LENGTH, runsSince, STATUS_AT, WITHOUT_VERDICT } from './kept-runs.ts';
import type { TrendGroup, Trends } from './page-data.ts';
import { type PageScope, seen, selectRows, selectTexts } from './page-scope.ts';
import { cacheBySignature, scoresSignature } from './signature-cache.ts';
import { selectValues } from './sql.ts';
import { groupsOfTests, type TestGrouping } from './test-groups.ts';

interface TrendQuery {
  /** Without it, all tests are one group. */
  readonly by?: TestGrouping | null;
  /** The number of UTC days. */
  readonly days: number;
}

const MAX_GROUPS = 20;

/**
 * The runs, incidents and scores of each day, with the runs of deleted tests that the mirror knows. `until` is on the
 * last day, by the source's clock.
 */
export function trends(scope: PageScope, { by = null, days: count }: TrendQuery, until: Instant): Trends {
  const days = Array.from({ length: count }, (_, i) => addDays(until, i + 1 - count).slice(0, 10));
  const groups = new Map<string | null, GroupSums>();
  const ofTest = sumsByTest(scope, by, (name) => {
    const sums = groups.get(name) ?? emptySums(count);
    groups.set(name, sums);
    return sums;
  });
  sumRuns(scope, days, ofTest);
  sumIncidents(scope, days, ofTest);
  const withRuns = [...groups].filter(
    ([, { runs, openCount, opened, resolved }]) =>
      [runs, opened, resolved].some((each) => each.some((n) => n > 0)) || openCount > 0,
  );
  const shown = withRuns.sort(([a, x], [b, y]) => total(y.runs) - total(x.runs) || ((a ?? '') < (b ?? '') ? -1 : 1));
  return {
    days,
    groups: shown.slice(0, MAX_GROUPS).map(([name, sums]) => groupOf(name, sums)),
    health: readHealth(scope, days),
    cut: shown.length > MAX_GROUPS,
  };
}

type GroupSums = ReturnType<typeof emptySums>;

/** What is summed for a group, by day. `verdicts` are runs that came to a verdict. */
function emptySums(days: number) {
  const none = (): number[] => new Array<number>(days).fill(0);
  const byDay = { runs: none(), passes: none(), verdicts: none(), opened: none(), resolved: none() };
  return { ...byDay, openCount: 0, hours: 0 };
}

type GroupsOfTest = (test: string) => readonly GroupSums[];

function sumsByTest(
  scope: PageScope,
  by: TestGrouping | null,
  sumsOf: (name: string | null) => GroupSums,
): GroupsOfTest {
  const all = [sumsOf(null)];
  if (by === null && scope.limit === null) return () => all;
  const found = new Map<string, readonly GroupSums[]>();
  for (const [test, names] of groupsOfTests(scope, by ?? 'test_type'))
    found.set(test, by === null ? all : names.map(sumsOf));
  return (test) => found.get(test) ?? [];
}

const total = (each: readonly number[]): number => each.reduce((sum, n) => sum + n, 0);

function groupOf(name: string | null, sums: GroupSums): TrendGroup {
  const resolved = total(sums.resolved);
  return {
    name,
    run_count: sums.runs,
    pass_rate: sums.verdicts.map((verdicts, i) => (verdicts === 0 ? null : (sums.passes[i] ?? 0) / verdicts)),
    incidents_opened: sums.opened,
    incidents_resolved: sums.resolved,
    open_count: sums.openCount,
    mean_hours_to_resolve: resolved === 0 ? null : sums.hours / resolved,
  };
}

function sumRuns(scope: PageScope, days: readonly string[], ofTest: GroupsOfTest): void {
  const placeAt = placesOf(days);
  for (const [test, runs] of runsSince(scope, days[0] ?? '')) {
    const groups = ofTest(test);
    if (groups.length === 0) continue;
    for (let at = 0; at < runs.length; at += RUN_LENGTH) {
      const place = placeAt(runs, at);
      if (place !== -1) for (const sums of groups) addRun(sums, place, runs.charCodeAt(at + STATUS_AT));
    }
  }
}

function addRun({ runs, verdicts, passes }: GroupSums, place: number, status: number): void {
  add(runs, place);
  if (status !== WITHOUT_VERDICT) add(verdicts, place);
  if (status === PASSED) add(passes, place);
}

/** The place of a month and day among the days; -1 for another day. Two days of ninety never share both. */
function placesOf(days: readonly string[]): (text: string, at: number) => number {
  const numberAt = (text: string, at: number): number => text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 528;
  const places = new Int16Array(13 * 32).fill(-1);
  for (const [i, day] of days.entries()) places[numberAt(day, 5) * 32 + numberAt(day, 8)] = i;
  return (text, at) => places[numberAt(text, at) * 32 + numberAt(text, at + 3)] ?? -1;
}

function add(counts: number[], place: number): void {
  counts[place] = (counts[place] ?? 0) + 1;
}

/**
 * The tests with incidents that are open, or were resolved since then: all tests with failing runs since, and those of
 * whose last failing run before then no PASS comes until then.
 */
const TESTS_WITH_INCIDENTS = `select test_id from test_executions
  where env_id = @env and test_id >= '' and sub_test_unique_id >= '' and status in ${FAILING} and start_time >= @from
  union select l.test_id from (
    select test_id, sub_test_unique_id, max(start_time) as start_time from test_executions
    where env_id = @env and test_id >= '' and sub_test_unique_id >= '' and status in ${FAILING} and start_time < @from
    group by test_id, sub_test_unique_id
  ) l where not exists (
    select 1 from test_executions p where p.env_id = @env and p.test_id = l.test_id and p.start_time > l.start_time
      and p.start_time < @from and p.status = 'PASS' and +p.sub_test_unique_id = l.sub_test_unique_id)`;

interface IncidentDays {
  readonly test_id: string;
  readonly disabled: 0 | 1;
  readonly opened: string;
  readonly resolved: string | null;
  readonly hours_to_resolve: number | null;
}

function sumIncidents(scope: PageScope, days: readonly string[], ofTest: GroupsOfTest): void {
  const from = days[0] ?? '';
  const tests = selectTexts(scope, TESTS_WITH_INCIDENTS, { from });
  const sql = `select test_id, coalesce(test_disabled, 0) as disabled, substr(first_start_time, 1, 10) as opened,
      substr(resolved_at, 1, 10) as resolved, hours_to_resolve
    from test_incidents where ${seen(scope, 'asset_id')} and test_id in ${selectValues('tests')}
      and (resolved_at is null or resolved_at >= @from)`;
  const places = new Map<string | null, number>(days.map((day, i) => [day, i]));
  for (const row of selectRows<IncidentDays>(scope, sql, { from, tests })) {
    const [opened, resolved] = [places.get(row.opened), places.get(row.resolved)];
    for (const sums of ofTest(row.test_id)) {
      // Nothing ends an incident of a test that does not run any more.
      if (row.resolved === null && row.disabled === 0) sums.openCount += 1;
      if (opened !== undefined) add(sums.opened, opened);
      if (resolved === undefined) continue;
      add(sums.resolved, resolved);
      sums.hours += row.hours_to_resolve ?? 0;
    }
  }
}

/** The mean of the scores of all live assets by day; the total comes first. */
function readHealth(scope: PageScope, days: readonly string[]): Trends['health'] {
  const rows = meansSince(scope, days[0] ?? '');
  return [...Map.groupBy(rows, ({ dimension }) => dimension)].map(([dimension, own]) => {
    const byDay = new Map(own.map(({ day, score }) => [day, score]));
    return { dimension, scores: days.map((day) => byDay.get(day) ?? null) };
  });
}

/** The means of all assets are stored in the mirror; those of a restricted reader's assets can take seconds. */
const meansSince = cacheBySignature(8, scoresSignature, (scope, from: string) => {
  const means =
    scope.limit === null
      ? 'select dimension, day, score from asset_health_means where env_id = @env and day >= @from'
      : `select dimension, day, avg(score) as score from health_daily
        where ${seen(scope, 'asset_id')} and day >= @from group by dimension, day`;
  const sql = `select * from (${means}) order by dimension <> 'total', dimension`;
  return selectRows<{ dimension: string; day: string; score: number | null }>(scope, sql, { from });
});
