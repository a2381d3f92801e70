import { addDays, type Instant } from '../core/instant.ts';
import type { TrendGroup, Trends } from './page-data.ts';
import { listed, numberOf, type PageReads, type PageScope, seen, textOf, valuesIn } from './page-scope.ts';
import { FAILING } from './status-order.ts';
import { groupsOfTests, type TestGrouping } from './test-groups.ts';

export interface TrendQuery {
  /** Null for one group of all tests. */
  readonly by: TestGrouping | null;
  /** The number of UTC days. */
  readonly days: number;
  /** A time of the last day, by the source's clock. */
  readonly until: Instant;
}

const MOST_GROUPS = 20;

/** The runs, incidents and scores of each day. The runs are those of tests that the mirror knows, deleted ones as well. */
export function trends(pageReads: PageReads, scope: PageScope, { by, days: count, until }: TrendQuery): Trends {
  const days = Array.from({ length: count }, (_, i) => addDays(until, i + 1 - count).slice(0, 10));
  const groups = new Map<string | null, GroupSums>();
  const ofTest = sumsByTest(pageReads, scope, { by, sumsOf: sumsIn(groups, count) });
  sumRuns(pageReads, scope, { days, ofTest });
  sumIncidents(pageReads, scope, { days, ofTest });
  const withRuns = [...groups].filter(
    ([, { runs, openCount, opened, resolved }]) =>
      [runs, opened, resolved].some((each) => each.some((n) => n > 0)) || openCount > 0,
  );
  const shown = withRuns.sort(([a, x], [b, y]) => total(y.runs) - total(x.runs) || ((a ?? '') < (b ?? '') ? -1 : 1));
  return {
    days,
    groups: shown.slice(0, MOST_GROUPS).map(([name, sums]) => groupOf(name, sums)),
    health: readHealth(pageReads, scope, days),
    cut: shown.length > MOST_GROUPS,
  };
}

/** What is summed for a group, by day. */
interface GroupSums {
  readonly runs: number[];
  readonly passes: number[];
  /** Runs that came to a verdict. */
  readonly verdicts: number[];
  readonly opened: number[];
  readonly resolved: number[];
  openCount: number;
  hours: number;
}

function sumsIn(groups: Map<string | null, GroupSums>, days: number): (name: string | null) => GroupSums {
  const none = (): number[] => new Array<number>(days).fill(0);
  return (name) => {
    const known = groups.get(name);
    if (known !== undefined) return known;
    const made = {
      runs: none(),
      passes: none(),
      verdicts: none(),
      opened: none(),
      resolved: none(),
      openCount: 0,
      hours: 0,
    };
    groups.set(name, made);
    return made;
  };
}

type GroupsOfTest = (test: string) => readonly GroupSums[];

function sumsByTest(
  pageReads: PageReads,
  scope: PageScope,
  { by, sumsOf }: Pick<TrendQuery, 'by'> & { readonly sumsOf: (name: string | null) => GroupSums },
): GroupsOfTest {
  if (by === null) {
    const all = [sumsOf(null)];
    return () => all;
  }
  const found = new Map<string, readonly GroupSums[]>();
  for (const [test, names] of groupsOfTests(pageReads, scope, by)) found.set(test, names.map(sumsOf));
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

interface DailySums {
  readonly days: readonly string[];
  readonly ofTest: GroupsOfTest;
}

/** The characters of one run: the month, the day, and a letter for the status. Two days of ninety have not the same month and day. */
const RUN_LENGTH = 'MM-DDx'.length;

/**
 * The tests with incidents that are open, or were resolved since then: all tests with failing runs since, and those of whose last failing run
 * before then no PASS comes until then.
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

/**
 * Counts the runs of the days. Each test has its runs in one text, because a row for each run would cost several times as much; an
 * index has them in the order of their times.
 */
function sumRuns(pageReads: PageReads, scope: PageScope, { days, ofTest }: DailySums): void {
  const rows = pageReads.rows({
    sql: `select t.id, (select group_concat(substr(x.start_time, 6, 5) || case x.status when 'PASS' then 'p'
          when 'WARN' then 'f' when 'FAIL' then 'f' when 'ERROR' then 'f' else 'o' end, '')
        from test_executions x
        where x.env_id = @env and x.test_id = t.id and x.start_time >= @from) as runs
      from tests t where ${seen(scope, { env: 't.env_id', asset: 't.asset_id' })}`,
    values: valuesIn(scope, { from: days[0] ?? '' }),
  });
  const places = new Map(days.map((day, i) => [day.slice(5), i]));
  for (const row of rows) {
    const runs = textOf(row['runs']) ?? '';
    const groups = ofTest(String(row['id']));
    for (let at = 0; at < runs.length; at += RUN_LENGTH) {
      const place = places.get(runs.slice(at, at + RUN_LENGTH - 1));
      if (place === undefined) continue;
      const status = runs[at + RUN_LENGTH - 1];
      for (const sums of groups) {
        add(sums.runs, place);
        if (status !== 'o') add(sums.verdicts, place);
        if (status === 'p') add(sums.passes, place);
      }
    }
  }
}

function add(counts: number[], place: number, n = 1): void {
  counts[place] = (counts[place] ?? 0) + n;
}

function sumIncidents(pageReads: PageReads, scope: PageScope, { days, ofTest }: DailySums): void {
  const from = days[0] ?? '';
  const tests = pageReads.texts({ sql: TESTS_WITH_INCIDENTS, values: { env: scope.env, from } });
  const rows = pageReads.rows({
    sql: `select test_id, substr(first_start_time, 1, 10) as opened, substr(resolved_at, 1, 10) as resolved, hours_to_resolve
      from test_incidents
      where ${seen(scope, { env: 'env_id', asset: 'asset_id' })} and test_id in ${listed('tests')}
        and (resolved_at is null or resolved_at >= @from)`,
    values: valuesIn(scope, { from, tests: JSON.stringify(tests) }),
  });
  const places = new Map(days.map((day, i) => [day, i]));
  for (const row of rows) {
    const [opened, resolved] = [places.get(String(row['opened'])), places.get(String(row['resolved']))];
    for (const sums of ofTest(String(row['test_id']))) {
      if (row['resolved'] === null) sums.openCount += 1;
      if (opened !== undefined) add(sums.opened, opened);
      if (resolved === undefined) continue;
      add(sums.resolved, resolved);
      sums.hours += Number(row['hours_to_resolve']);
    }
  }
}

/** The mean of the scores of all live assets by day; the total comes first. */
function readHealth(pageReads: PageReads, scope: PageScope, days: readonly string[]): Trends['health'] {
  // The kept means are of all assets.
  const means =
    scope.limit === null
      ? 'select dimension, day, score from asset_health_means where env_id = @env and day >= @from and day <= @to'
      : `select dimension, day, avg(score) as score from health_daily
        where ${seen(scope, { env: 'env_id', asset: 'asset_id' })} and day >= @from and day <= @to group by dimension, day`;
  const rows = pageReads.rows({
    sql: `select * from (${means}) order by dimension <> 'total', dimension`,
    values: valuesIn(scope, { from: days[0] ?? '', to: days.at(-1) ?? '' }),
  });
  return [...Map.groupBy(rows, (row) => String(row['dimension']))].map(([dimension, own]) => {
    const byDay = new Map(own.map((row) => [row['day'], numberOf(row['score'])]));
    return { dimension, scores: days.map((day) => byDay.get(day) ?? null) };
  });
}
