import { describe, expect, test } from 'vitest';
import type { ListedEnvironment } from '../../../src/core/schedule/environments.ts';
import {
  capAtNow,
  dueSince,
  nextScheduleStep,
  type ScheduledRun,
  type ScheduleRules,
  timetable,
  timetableChanges,
} from '../../../src/core/schedule/schedule.ts';
import { nextTick } from '../../../src/sync/schedule-cron.ts';
import { T, YESTERDAY } from '../setup.ts';

const env = (id: string, cron: string | null = null): ListedEnvironment => ({ id, name: `Env ${id}`, cron });
const at = (time: string): string => `2026-11-20T${time}.000000Z`;
const ALL: ScheduleRules = { cron: null, delaySeconds: 600, environments: [], together: true };

/** When each environment is due, by the clock at T. */
function due(
  environments: readonly ListedEnvironment[],
  starts: Record<string, string>,
  rules: Partial<ScheduleRules> = {},
): ScheduledRun[] {
  const clockwork = { now: T, next: nextTick };
  return timetable(environments, { ...ALL, ...rules }, new Map(Object.entries(starts)), clockwork);
}
const order = (timetable: readonly ScheduledRun[]) => timetable.map((each) => each.environment.id);
const scheduled = (id: string, dueAt: string | null, cron: string | null = '0 6 * * *'): ScheduledRun => ({
  environment: env(id, cron),
  cron,
  due: dueAt,
});

describe('timetable', () => {
  test('an environment is due some delay after the first tick of its own cron since its last run began', () => {
    expect(due([env('a', '0 6 * * *')], { a: T })).toEqual([scheduled('a', at('06:10:00'))]);
    expect(due([env('a', '0 4 * * *')], { a: at('04:05:00') })[0]?.due).toBe(at('04:10:00'));
  });

  test('with --cron an environment is due at the tick itself', () => {
    expect(due([env('a', '0 6 * * *'), env('b')], { a: T, b: T }, { cron: '30 5 * * *' })).toMatchObject([
      { cron: '30 5 * * *', due: at('05:30:00') },
      { cron: '30 5 * * *', due: at('05:30:00') },
    ]);
  });

  test('an environment that never ran is due at once, before all others', () => {
    const timetable = due([env('late', '0 * * * *'), env('new', '0 6 * * *')], { late: YESTERDAY });
    expect(order(timetable)).toEqual(['new', 'late']);
    expect(nextScheduleStep(timetable, T, '0001-01-01T00:00:00.000000Z')).toEqual({
      do: 'run',
      due: timetable.slice(0, 1),
    });
  });

  test.each([null, 'at dawn', '0 0 30 2 *'])(
    'with the cron %j an environment is never due, even if it never ran',
    (cron) => {
      const timetable = due([env('never', cron), env('a', '0 6 * * *')], { a: T });
      expect(timetable.map(({ environment, due: dueAt }) => [environment.id, dueAt])).toEqual([
        ['a', at('06:10:00')],
        ['never', null],
      ]);
    },
  );

  test('environments are sorted by due time, and in listed order within the same time', () => {
    const crons = { c: '0 7 * * *', b: '0 5 * * *', a: '0 5 * * *', d: '0 6 * * *' };
    const environments = Object.entries(crons).map(([id, cron]) => env(id, cron));
    expect(order(due(environments, { a: T, b: T, c: T, d: T }))).toEqual(['b', 'a', 'd', 'c']);
  });

  test('only the requested environments are scheduled, by id or by name', () => {
    const environments = [env('a'), env('b'), env('c')];
    expect(order(due(environments, {}))).toEqual(['a', 'b', 'c']);
    expect(order(due(environments, {}, { environments: ['c', 'Env a', 'x'] }))).toEqual(['a', 'c']);
  });
});

test('a last run in the future counts as begun now, so a clock that was set back delays nothing', () => {
  const starts = new Map([
    ['ahead', '2031-01-01T00:00:00.000000Z'],
    ['past', YESTERDAY],
  ]);
  expect([...capAtNow(starts, T)]).toEqual([
    ['ahead', T],
    ['past', YESTERDAY],
  ]);
});

describe('nextScheduleStep', () => {
  const a = scheduled('a', at('05:00:00'));
  const soon = at('04:40:00');

  test('the environments due longest run together, even if a listing is due', () => {
    const timetable = [a, scheduled('b', at('05:00:00')), scheduled('c', at('05:00:01'))];
    expect(nextScheduleStep(timetable, T, at('05:00:01'))).toEqual({ do: 'run', due: timetable.slice(0, 2) });
    expect(nextScheduleStep([a], soon, at('04:59:59')).do).toBe('list');
  });

  test('a listing follows if its time has come, or lies too far off because a clock was set back', () => {
    expect(nextScheduleStep([a], soon, soon)).toEqual({ do: 'list' });
    expect(nextScheduleStep([a], at('05:10:00'), T)).toEqual({ do: 'wait', until: at('05:00:00') });
    expect(nextScheduleStep([a], at('05:10:01'), T)).toEqual({ do: 'list' });
  });

  test('otherwise it waits for the earlier of the run and the listing', () => {
    expect(nextScheduleStep([a], soon, T)).toEqual({ do: 'wait', until: soon });
    expect(nextScheduleStep([scheduled('a', at('04:30:00'))], soon, T)).toEqual({ do: 'wait', until: at('04:30:00') });
    expect(nextScheduleStep([scheduled('a', null)], soon, T)).toEqual({ do: 'wait', until: soon });
    expect(nextScheduleStep([], soon, T)).toEqual({ do: 'wait', until: soon });
  });
});

describe('timetableChanges', () => {
  const changes = (before: readonly ScheduledRun[], after: readonly ScheduledRun[]) =>
    timetableChanges(before, after).map(({ what, scheduledRun: { environment } }) => `${environment.id} ${what}`);

  test('environments that come and go are reported', () => {
    const after = [scheduled('a', T), scheduled('b', null, null), scheduled('c', null)];
    expect(changes([], after)).toEqual(['a scheduled', 'b no cron', 'c bad cron']);
    expect(changes([scheduled('x', T), ...after], after)).toEqual(['x gone']);
  });

  test('another cron expression, and one that has no next tick, are reported', () => {
    expect(changes([scheduled('a', T)], [scheduled('a', T, '0 7 * * *')])).toEqual(['a scheduled']);
    expect(changes([scheduled('a', T)], [scheduled('a', null)])).toEqual(['a bad cron']);
  });

  test('another due time is not reported', () => {
    expect(
      changes([scheduled('a', T), scheduled('b', null)], [scheduled('a', at('06:10:00')), scheduled('b', null)]),
    ).toEqual([]);
  });
});

const NOW = at('04:10:00');
const EARLIER = at('04:00:00');
const LATER = at('05:00:00');

describe('since when an environment is due', () => {
  test.each([
    ['its next time, if that is later', LATER, null, LATER],
    ['never without a next time', null, EARLIER, null],
    ['since it was due before', '0000', EARLIER, EARLIER],
    ['now, if it was not due before', '0000', null, NOW],
    ['now, if its time has been moved to the past', EARLIER, LATER, NOW],
  ])('is %s', (_, next, before, expected) => {
    expect(dueSince(next, before, NOW)).toBe(expected);
  });
});
