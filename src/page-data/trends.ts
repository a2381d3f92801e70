import { addDays, type Instant } from '../core/instant.ts';
import type { TrendGroup, Trends } from './page-data.ts';
import { numberOf, type PageReads, type PageScope, seen, textOf, valuesIn } from './page-scope.ts';
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
  const ofTest = new Map<string, readonly GroupSums[]>();
  for (const [test, names] of groupsOfTests(pageReads, scope, by)) ofTest.set(test, names.map(sumsIn(groups, count)));
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
  readonly ofTest: ReadonlyMap<string, readonly GroupSums[]>;
}

/** The characters of one run: the month, the day, and a letter for the status. Two days of ninety have not the same month and day. */
const RUN_LENGTH = 'MM-DDx'.length;

/**
 * Counts the runs of the days. Each test has its runs in one text, because a row for each run would cost several times as much; an
 * index has them in the order of their times.
 */
function sumRuns(pageReads: PageReads, scope: PageScope, { days, ofTest }: DailySums): void {
  const rows = pageReads.rows({
    sql: `select t.id, (select group_concat(substr(x.start_time, 6, 5) || case x.status when 'PASS' then 'p'
          when 'WARN' then 'f' when 'FAIL' then 'f' when 'ERROR' then 'f' else 'o' end, '')
        from test_executions x
        where x.env_id = @env and x.test_id = t.id and x.start_time >= @from and x.start_time < @to) as runs
      from tests t where ${seen(scope, { env: 't.env_id', asset: 't.asset_id' })}`,
    values: valuesIn(scope, rangeOf(days)),
  });
  const places = new Map(days.map((day, i) => [day.slice(5), i]));
  for (const row of rows) {
    const runs = textOf(row['runs']) ?? '';
    const groups = ofTest.get(String(row['id'])) ?? [];
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

/** The times of the days: `U` comes after the `T` of every time of the last day. */
const rangeOf = (days: readonly string[]) => ({ from: days[0] ?? '', to: `${days.at(-1)}U` });

function add(counts: number[], place: number, n = 1): void {
  counts[place] = (counts[place] ?? 0) + n;
}

function sumIncidents(pageReads: PageReads, scope: PageScope, { days, ofTest }: DailySums): void {
  const { from } = rangeOf(days);
  const rows = pageReads.rows({
    sql: `select test_id, substr(first_start_time, 1, 10) as opened, substr(resolved_at, 1, 10) as resolved, hours_to_resolve
      from test_incidents
      where ${seen(scope, { env: 'env_id', asset: 'asset_id' })} and (resolved_at is null or resolved_at >= @from)`,
    values: valuesIn(scope, { from }),
  });
  const places = new Map(days.map((day, i) => [day, i]));
  for (const row of rows) {
    const [opened, resolved] = [places.get(String(row['opened'])), places.get(String(row['resolved']))];
    for (const sums of ofTest.get(String(row['test_id'])) ?? []) {
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
  const rows = pageReads.rows({
    sql: `select dimension, day, avg(score) as score from health_daily
      where ${seen(scope, { env: 'env_id', asset: 'asset_id' })} and day >= @from and day <= @to
      group by dimension, day order by dimension <> 'total', dimension`,
    values: valuesIn(scope, { from: days[0] ?? '', to: days.at(-1) ?? '' }),
  });
  return [...Map.groupBy(rows, (row) => String(row['dimension']))].map(([dimension, own]) => {
    const byDay = new Map(own.map((row) => [row['day'], numberOf(row['score'])]));
    return { dimension, scores: days.map((day) => byDay.get(day) ?? null) };
  });
}
