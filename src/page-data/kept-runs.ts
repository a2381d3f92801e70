import { addDays } from '../core/time/instant.ts';
import { TREND_DAYS } from './default-parameters.ts';
import { type PageScope, type ScopedValues, selectOne, selectRows, selectTexts } from './page-scope.ts';
import { cacheRecent } from './signature-cache.ts';
import { selectValues } from './sql.ts';

/** The runs of a test as one text, `RUN_LENGTH` characters for each: month, day, and a letter for the status. */
export const STATUS_AT = 'MM-DD'.length;
export const RUN_LENGTH = STATUS_AT + 1;
/** The letters, as numbers. Any other run has come to a verdict, and failed. */
export const [PASSED, WITHOUT_VERDICT] = ['p'.charCodeAt(0), 'o'.charCodeAt(0)] as const;

/**
 * Counts in SQL would be shorter but too slow for a page that answers within 200 ms of CPU after every commit. Measured
 * with a million runs of 20,000 tests in 90 days, by group and day: 1000 ms from `test_executions`, and 650 ms from a
 * table of daily counts per test, which also adds 54 MB. From these texts it takes 170 ms. A row per run would cost
 * several times as much memory.
 */
const RUNS_OF_TEST = `(select group_concat(substr(x.start_time, 6, 5) || case x.status when 'PASS' then 'p'
    when 'WARN' then 'f' when 'FAIL' then 'f' when 'ERROR' then 'f' else 'o' end, '')
  from test_executions x where x.env_id = @env and x.test_id = t.id and x.start_time >= @since)`;

/** The runs of an environment by test, from the day `since` on, and the state of the mirror that they are from. */
type KeptRuns = ReturnType<typeof readAll>;

const kept = new WeakMap<object, Map<string, KeptRuns>>();
/** How many environments are cached: a million runs take about 10 MB. */
const MAX_KEPT = 2;
/** Reads this many extra days before the first requested one, so the cache still fits tomorrow. */
const KEPT_DAYS = 60;
/** A cache that starts earlier is rebuilt. It spans less than a year, so month and day identify a day. */
const MAX_KEPT_DAYS = Math.max(...TREND_DAYS) + 2 * KEPT_DAYS;

/** The runs of all tests since a day or earlier, by test: read once, then only those of tests with changes. */
export function runsSince(scope: PageScope, from: string): ReadonlyMap<string, string> {
  const { reads, env } = scope;
  const environments = kept.get(reads.memory) ?? new Map<string, KeptRuns>();
  kept.set(reads.memory, environments);
  const known = environments.get(env);
  const fits =
    known !== undefined &&
    known.since <= from &&
    known.since >= daysBefore(from, MAX_KEPT_DAYS) &&
    (known.seenIn === reads || known.renumbered === stateOf(scope).renumbered);
  const current = fits ? known : readAll(scope, daysBefore(from, KEPT_DAYS));
  if (current.seenIn !== reads) readChanged(scope, current);
  cacheRecent(environments, env, current, MAX_KEPT);
  return current.runs;
}

const daysBefore = (day: string, days: number): string => addDays(`${day}T00:00:00.000000Z`, -days).slice(0, 10);

function readAll(scope: PageScope, since: string) {
  const runs = new Map<string, string>();
  readRuns(scope, runs, 'from tests t where t.env_id = @env', { since });
  return { since, runs, ...stateOf(scope) };
}

/** Reads the runs of the tests `t`. */
function readRuns(scope: PageScope, into: Map<string, string>, fromTests: string, values: ScopedValues): void {
  const sql = `select t.id, ${RUNS_OF_TEST} as runs ${fromTests}`;
  for (const { id, runs } of selectRows<{ id: string; runs: string | null }>(scope, sql, values))
    if (runs !== null) into.set(id, runs);
}

/** `renumbered` changes if runs are pruned or the file is compacted: numbers of rows may then be used again. */
function stateOf(scope: PageScope) {
  const sql = `select coalesce((select max(rowid) from test_executions), 0) as lastRow,
    coalesce((select mirrored_at from mirror_environments where env_id = @env), '') as at,
    json_array((select schema_version from pragma_schema_version),
      (select sum(row_count) from pruned_history where history = 'test_executions')) as renumbered`;
  return { seenIn: scope.reads, ...selectOne<{ lastRow: number; at: string; renumbered: string }>(scope, sql) };
}

/** `+` keeps SQLite from an index by environment: the new rows are the last ones. */
const CHANGED = `select test_id from test_executions where rowid > @last_row and +env_id = @env
  union select test_id from latest_test_executions where env_id = @env and mirrored_at > @at
  union select test_id from test_readings where env_id = @env and mirrored_at > @at`;

/** A test may be mirrored after its runs. */
const CHANGED_TESTS = `select id from tests where env_id = @env and mirrored_at > @at and deleted_at is null
  union all select id from tests where env_id = @env and mirrored_at > @at and deleted_at is not null`;

function readChanged(scope: PageScope, keptRuns: KeptRuns): void {
  const { at, lastRow, runs, since } = keptRuns;
  const changed = selectTexts(scope, CHANGED, { last_row: lastRow, at });
  const tests = selectTexts(scope, CHANGED_TESTS, { at }).filter((id) => !runs.has(String(id)));
  const fromTests = `from ${selectValues('tests')} i join tests t on t.env_id = @env and t.id = i.value`;
  readRuns(scope, runs, fromTests, { since, tests: [...changed, ...tests] });
  Object.assign(keptRuns, stateOf(scope));
}
