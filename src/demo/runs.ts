import type { latestTestExecutions } from '../../schema/data-tests.ts';
import { DAY_MS, HOUR_MS } from '../core/time/duration.ts';
import { instantOfMs } from '../core/time/instant.ts';
import { DIMENSION_OF, isHosted, type TestRow } from './checks.ts';
import type { SampleEstate } from './estate.ts';
import type { SeededRandom } from './random.ts';
import { EXCEPTIONS } from './vocabulary.ts';

export type RunRow = typeof latestTestExecutions.$inferInsert;

const HISTORY_DAYS = 14;
const DISABLED_FOR_DAYS = 5;

/** A test's runs from day `since` to day `until` (days ago) end with `status`, all others with PASS. */
interface FailurePeriod {
  readonly status: string;
  readonly since: number;
  readonly until: number;
}

const CALM: FailurePeriod = { status: 'PASS', since: 0, until: 0 };

/** Two weeks of daily runs of every sub-test, the newest first. */
export function runsOf(test: TestRow, { random, latestMs, nowMs }: SampleEstate): RunRow[][] {
  const latestStartMs = latestMs - 2 * HOUR_MS;
  const days = Array.from({ length: HISTORY_DAYS }, (_, day) => day).slice(test.disabled === 1 ? DISABLED_FOR_DAYS : 0);
  return subTypesOf(test).map((subType) => {
    const trouble = troubleOf(test, random);
    return days.map((day) => {
      const status = day <= trouble.since && day >= trouble.until ? trouble.status : 'PASS';
      const startMs = latestStartMs - day * DAY_MS + random.whole(HOUR_MS);
      return runOf(test, subType, status, { random, startMs, nowMs });
    });
  });
}

/** One run of a sub-test, synced a minute after its end. */
export function runOf(
  test: TestRow,
  subType: string,
  status: string,
  { random, startMs, nowMs }: { random: SeededRandom; startMs: number; nowMs: number },
): RunRow {
  const hosted = isHosted(test);
  const seconds = Math.round((0.2 + random.next() * random.next() * 90) * 1000) / 1000;
  return {
    env_id: test.env_id,
    sub_test_unique_id: `${test.id}#${subType}`,
    id: `run_${random.hex(16)}`,
    test_id: test.id,
    sub_type: subType,
    status,
    failure_count: failuresOf(status, hosted, random),
    start_time: instantOfMs(startMs),
    duration_seconds: seconds,
    column_name: test.column_name ?? null,
    quality_dimension: DIMENSION_OF[test.definition_type ?? ''] ?? null,
    result_reason: hosted ? reasonOf(status) : null,
    exception: status === 'ERROR' ? random.pick(EXCEPTIONS) : null,
    synced_at: instantOfMs(Math.min(startMs + seconds * 1000 + 60_000, nowMs)),
    mirrored_at: instantOfMs(nowMs),
  };
}

/** A test of accepted values checks current and historic rows separately. */
function subTypesOf({ definition_type: type }: TestRow): string[] {
  return type === 'accepted_values' ? ['accepted_values', 'accepted_values_history'] : [type ?? 'custom'];
}

function troubleOf(test: TestRow, random: SeededRandom): FailurePeriod {
  const luck = random.next();
  const since = 1 + random.whole(HISTORY_DAYS - 1);
  // Most current failures began before the history does, so days are alike and some get better.
  if (luck < 0.035) return { status: badStatus(test), since: since + random.whole(60), until: 0 };
  if (luck < 0.045) return { status: 'ERROR', since: random.whole(3), until: 0 };
  if (luck < 0.055) return { status: isHosted(test) ? 'NO_DATA' : 'SKIPPED', since, until: 0 };
  return luck < 0.14 ? { status: badStatus(test), since: since + random.whole(3), until: since } : CALM;
}

export function badStatus({ severity }: TestRow): string {
  return severity === 'WARNING' ? 'WARN' : 'FAIL';
}

function failuresOf(status: string, hosted: boolean, random: SeededRandom): number | null {
  if (status === 'ERROR') return null;
  return hosted || (status !== 'FAIL' && status !== 'WARN') ? 0 : 1 + random.whole(400);
}

function reasonOf(status: string): string {
  if (status === 'PASS') return 'NO_ANOMALY_DETECTED';
  if (status === 'ERROR') return 'PERMISSIONS_ERROR';
  return status === 'NO_DATA' ? 'NOT_ENOUGH_DATA_SAMPLES' : 'ANOMALY_DETECTED';
}
