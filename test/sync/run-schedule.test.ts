import { describe, expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import type { ListedEnvironment } from '../../src/core/schedule/environments.ts';
import { nextScheduleStep } from '../../src/core/schedule/schedule.ts';
import { addSeconds } from '../../src/core/time/instant.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { env, live, MIDNIGHT, ran, synced } from './schedule-setup.ts';

describe('when a run is due', () => {
  test('an environment runs at the ticks of its own cron expression, in UTC', async () => {
    const { runs } = await live({ ...synced(env('a', '0 6,18 * * *')), hours: 24 });
    expect(runs).toEqual(['06:00 a', '18:00 a']);
  });

  test('the delay is added to the ticks of an environment’s own cron', async () => {
    const { runs } = await live({ ...synced(env('a', '0 6 * * *')), rules: { delaySeconds: 600 }, hours: 24 });
    expect(runs).toEqual(['06:10 a']);
  });

  test('with --cron every environment runs at its ticks, without the delay', async () => {
    const rules = { cron: '30 12 * * *', delaySeconds: 600 };
    const { runs } = await live({ ...synced(env('a', '0 6 * * *'), env('b')), rules, hours: 24 });
    expect(runs).toEqual(['12:30 a+b']);
  });

  test('an environment that was never synced runs at once', async () => {
    const { runs } = await live({ list: () => [env('a', '0 6 * * *')], hours: 5 });
    expect(runs).toEqual(['00:00 a']);
  });

  test('at the start, an environment that missed ticks since its last run runs once', async () => {
    const environments = [env('late', '0 * * * *'), env('fresh', '0 6 * * *')];
    const lastStarts = { late: addSeconds(MIDNIGHT, -86_400), fresh: addSeconds(MIDNIGHT, -3600) };
    const { runs } = await live({ list: () => environments, mirrored: { environments, lastStarts }, hours: 0.9 });
    expect(runs).toEqual(['00:00 late']);
  });

  test('a tick counts as missed only after its delay has passed', async () => {
    const environments = [env('a', '0 0 * * *')];
    const lastStarts = { a: addSeconds(MIDNIGHT, -3600) };
    const world = { list: () => environments, mirrored: { environments, lastStarts }, rules: { delaySeconds: 600 } };
    expect((await live({ ...world, startAt: addSeconds(MIDNIGHT, 300), hours: 1 })).runs).toEqual(['00:10 a']);
    expect((await live({ ...world, startAt: addSeconds(MIDNIGHT, 900), hours: 1 })).runs).toEqual(['00:15 a']);
  });

  test('a run that began between a tick and the end of its delay doesn’t count for that tick', async () => {
    const environments = [env('a', '0 0 * * *')];
    const lastStarts = { a: addSeconds(MIDNIGHT, 300) };
    const mirrored = { environments, lastStarts };
    const startAt = addSeconds(MIDNIGHT, 400);
    const { runs } = await live({
      list: () => environments,
      mirrored,
      rules: { delaySeconds: 600 },
      startAt,
      hours: 2,
    });
    expect(runs).toEqual(['00:10 a']);
  });

  test('ticks missed while the machine slept cause a single run', async () => {
    const { runs } = await live({ ...synced(env('a', '0 * * * *')), asleep: [0.5, 7.5], hours: 9 });
    expect(runs).toEqual(['07:30 a', '08:00 a']);
  });

  test('ticks missed during another run cause a single run', async () => {
    const { runs, maxAtOnce } = await live({
      ...synced(env('a', '0 1 * * *'), env('b', '*/10 1-2 * * *')),
      runSeconds: 3600,
      hours: 3,
    });
    expect(runs).toEqual(['01:00 a+b', '02:00 b']);
    expect(maxAtOnce).toBe(1);
  });

  test('the environment due longest runs first, so each has its turn', async () => {
    const { runs } = await live({
      list: () => [env('busy', '* * * * *'), env('other', '0 1 * * *'), env('new', '0 1 * * *')],
      mirrored: { environments: [], lastStarts: ran('busy', 'other') },
      runSeconds: 1800,
      hours: 2.5,
    });
    expect(runs).toEqual(['00:00 new', '00:30 busy', '01:00 busy', '01:30 other+new', '02:00 busy']);
  });

  test('an environment that never ran goes before those that are always late', async () => {
    const [busy, late] = [env('busy', '* * * * *'), env('late', '* * * * *')];
    const { runs } = await live({
      list: (hours) => (hours < 0.9 ? [busy] : [busy, late]),
      mirrored: { environments: [busy], lastStarts: ran('busy') },
      runSeconds: 1800,
      hours: 1.6,
    });
    expect(runs).toEqual(['00:01 busy', '00:31 busy', '01:01 late', '01:31 busy']);
  });

  test('the schedule wakes up at least every minute, because the machine may have slept', async () => {
    expect((await live({ ...synced(env('a', '0 6 * * *')), hours: 7 })).longestNapMs).toBe(60_000);
  });

  test('a clock that was set back delays no run', async () => {
    const environments = [env('a', '0 6 * * *')];
    const lastStarts = { a: '2031-01-01T00:00:00.000000Z' };
    const { runs } = await live({ list: () => environments, mirrored: { environments, lastStarts }, hours: 24 });
    expect(runs).toEqual(['06:00 a']);
  });
});

describe('the listing of environments', () => {
  const later = (before: ListedEnvironment[], after: ListedEnvironment[]) => ({
    list: (hours: number) => (hours < 2.5 ? before : after),
    mirrored: { environments: before, lastStarts: ran(...before.map(({ id }) => id)) },
  });

  test('environments are listed at the start and hourly while nothing runs', async () => {
    const { listings } = await live({ ...synced(env('a', '0 6 * * *')), hours: 3.5 });
    expect(listings).toEqual(['00:00', '01:00', '02:00', '03:00']);
  });

  test('environments are listed soon after the clock was set back', async () => {
    const { listings } = await live({ ...synced(env('a', '0 6 * * *')), asleep: [2.5, 0.5], hours: 2.9 });
    expect(listings).toEqual(['00:00', '01:00', '02:00', '00:30', '01:30', '02:30']);
  });

  test('the listing of a run replaces a separate one', async () => {
    const { listings } = await live({ ...synced(env('a', '*/30 * * * *')), hours: 5 });
    expect(listings).toEqual(['00:00']);
  });

  test('an environment that appears is synced', async () => {
    const a = env('a', '0 6 * * *');
    const { runs } = await live({ ...later([a], [a, env('b', '0 12 * * *')]), hours: 24 });
    expect(runs).toEqual(['03:00 b', '06:00 a', '12:00 b']);
  });

  test('an environment that vanishes is reported once, and no longer synced', async () => {
    const [a, b] = [env('a', '0 * * * *'), env('b', '0 12 * * *')];
    const { runs, warnings, error } = await live({ ...later([a, b], [b]), hours: 6 });
    expect(runs).toEqual(['01:00 a', '02:00 a', '03:00 a']);
    expect(warnings).toEqual([
      'a-name is no longer listed, or was renamed, so it is no longer synced: its rows stay as they are',
    ]);
    expect(error).toBeNull();
  });

  test.each([
    ['was renamed', [{ ...env('a', '0 * * * *'), name: 'b' }], 'no environment a-name: the token sees a (b)'],
    ['is the only one and vanishes', [], 'no environment a-name: the token sees none'],
  ])('an environment chosen by its name that %s is reported at every listing', async (_, after, warning) => {
    const before = [env('a', '0 * * * *')];
    const { warnings } = await live({ ...later(before, after), rules: { environments: ['a-name'] }, hours: 7 });
    expect(warnings.filter((line) => line === warning)).toHaveLength(4);
  });

  test('an environment chosen by its name that was renamed is reported by every run of the others', async () => {
    const [a, b] = [env('a', '*/30 * * * *'), env('b', '0 * * * *')];
    const { warnings } = await live({
      ...later([a, b], [a, { ...b, name: 'other' }]),
      rules: { environments: ['a', 'b-name'] },
      hours: 5,
    });
    expect(warnings.filter((line) => line.startsWith('no environment b-name')).length).toBeGreaterThan(2);
  });

  test('a token that sees no environment any more is reported at every listing', async () => {
    const { warnings } = await live({ ...later([env('a', '0 * * * *')], []), hours: 7 });
    const warning = 'the token sees no environment: check its permissions';
    expect(warnings.filter((line) => line === warning)).toHaveLength(4);
  });

  test('a changed cron expression takes effect', async () => {
    const { runs, news } = await live({ ...later([env('a', '0 6 * * *')], [env('a', '0 9 * * *')]), hours: 24 });
    expect(runs).toEqual(['09:00 a']);
    expect(news.filter((line) => line.includes('next run'))).toEqual([
      'a-name: 0 6 * * * (UTC), next run at 2026-11-20 06:00:00Z',
      'a-name: 0 9 * * * (UTC), next run at 2026-11-20 09:00:00Z',
    ]);
  });

  test('an environment without a cron expression causes one warning, and the others are synced', async () => {
    const { runs, warnings } = await live({ ...synced(env('a', '0 6 * * *'), env('b')), hours: 24 });
    expect(runs).toEqual(['06:00 a']);
    expect(warnings).toEqual(['b-name has no cron expression of its own and is not synced: pass one with --cron']);
  });

  test.each(['61 * * * *', 'daily', '0 0 30 2 *', '2026-11-20T06:00:00Z', ''])(
    'a bad cron expression (%o) causes one warning, and the other environments are synced',
    async (cron) => {
      const { runs, warnings } = await live({ ...synced(env('a', '0 6 * * *'), env('b', cron)), hours: 24 });
      expect(runs).toEqual(['06:00 a']);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain('b-name is not synced');
    },
  );

  test('only the requested environments are synced, by id or name', async () => {
    const all = synced(env('a', '0 6 * * *'), env('b', '0 7 * * *'), env('c', '0 8 * * *'));
    const { runs } = await live({ ...all, rules: { environments: ['a', 'c-name'] }, hours: 24 });
    expect(runs).toEqual(['06:00 a', '08:00 c']);
  });
});

describe('what ends a schedule', () => {
  test('it ends if none of the environments can be scheduled', async () => {
    const { error } = await live({ list: () => [env('a'), env('b', 'bad')], hours: 24 });
    expect(error).toMatchObject({ recovery: 'usage', message: expect.stringContaining('--cron') });
  });

  test('it ends if a requested environment is not listed', async () => {
    const { error } = await live({ ...synced(env('a', '0 6 * * *')), rules: { environments: ['x'] }, hours: 24 });
    expect(error).toMatchObject({ recovery: 'usage', message: 'no environment x: the token sees a (a-name)' });
  });

  test.each([
    ['before anything was mirrored', {}],
    ['at the start, even with a mirror', synced(env('a', '0 3 * * *'))],
  ])('it ends if the token is refused %s', async (_, world) => {
    const list = () => {
      throw new SyncError('token', 'refused');
    };
    const { error, runs } = await live({ ...world, list, hours: 24 });
    expect(error).toMatchObject({ recovery: 'token' });
    expect(runs).toEqual([]);
  });

  test('it ends if the first run finds a wrong configuration', async () => {
    const ending = () => ({ run: null, status: 'problems', recovery: 'usage', error: 'not a mirror' }) as const;
    const { error, runs } = await live({ list: () => [env('a', '0 6 * * *')], ending, hours: 24 });
    expect(error).toMatchObject({ recovery: 'usage', message: 'not a mirror' });
    expect(runs).toEqual(['00:00 a']);
  });

  test('it continues if the first run finds that its environment was just removed', async () => {
    const ending = () => ({ run: null, status: 'problems', recovery: 'usage', error: 'no environment a' }) as const;
    const list = (hours: number) => (hours < 5.5 ? [env('a', '0 6 * * *')] : []);
    const mirrored = { environments: list(0), lastStarts: ran('a') };
    const { error, runs } = await live({ list, mirrored, ending: () => ending(), hours: 7, asleep: [5.2, 6] });
    expect(runs).toEqual(['06:00 a']);
    expect(error).toBeNull();
  });

  test('it begins no run after a signal', async () => {
    const { runs, error } = await live({
      ...synced(env('a', '0 1 * * *'), env('b', '0 1 * * *')),
      rules: { together: false },
      hours: 1.0001,
    });
    expect(runs).toEqual(['01:00 a']);
    expect(error).toBeNull();
  });
});

describe('what a schedule logs of a run', () => {
  const counts = { rows_written: 0, rows_deleted: 0, requests: 1 };
  const logged = async (ending: Partial<RunSummary>) =>
    live({
      ...synced(env('a', '0 6 * * *'), env('b', '0 6 * * *')),
      ending: () => ({ ...counts, ...ending }),
      hours: 7,
    });

  test('it is one line, whatever the number of environments', async () => {
    const { news, warnings } = await logged({});
    expect(news.slice(2, -1)).toEqual(['a-name, b-name: run 1 ended, done: 0 rows written, 0 deleted, 1 request']);
    expect(warnings).toEqual([]);
  });

  test('it is nothing if a signal came before the run began', async () => {
    const { news, warnings } = await logged({ run: null, status: 'interrupted', recovery: 'signal' });
    expect(news.filter((line) => line.includes('ended'))).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test('it names the streams that changed, over all environments', async () => {
    const changed = (stream: string, rows_written: number, rows_deleted = 0) => ({
      stream,
      rows_written,
      rows_deleted,
    });
    const streams = [changed('assets', 2), changed('columns', 0), changed('tests', 0, 1), changed('assets', 3)];
    const { news } = await logged({ rows_written: 5, rows_deleted: 1, requests: 9, streams: streams as never });
    expect(news.at(-2)).toMatch(/: 5 rows written, 1 deleted, 9 requests \(assets 5, tests 1\)$/);
  });
});

describe('what doesn’t end a schedule', () => {
  const failures: Partial<RunSummary>[] = [
    { status: 'problems', recovery: null, error: null },
    { status: 'problems', recovery: 'run', error: 'the service is away' },
    { status: 'refused', recovery: 'token', error: 'the token is refused' },
    { status: 'problems', run: null, recovery: 'locked', error: 'another sync holds the mirror' },
    { status: 'stopped', recovery: 'budget', error: 'stopped at --max-requests' },
  ];

  test.each(failures)('after a run that ended $status, $recovery, it tries again at the next tick', async (failure) => {
    const { runs, error } = await live({ ...synced(env('a', '0 6,12 * * *')), ending: () => failure, hours: 24 });
    expect(runs).toEqual(['06:00 a', '12:00 a']);
    expect(error).toBeNull();
  });

  test('after an unexpected failure it reports that and tries again at the next tick', async () => {
    const { runs, warnings } = await live({
      ...synced(env('a', '0 6,12 * * *')),
      ending: (_, hours) => (hours < 7 ? new Error('boom') : {}),
      hours: 24,
    });
    expect(runs).toEqual(['06:00 a', '12:00 a']);
    expect(warnings).toEqual(['a-name: the run failed unexpectedly: boom']);
  });

  test('it continues if the configuration becomes wrong after a good run', async () => {
    const { runs, error } = await live({
      ...synced(env('a', '0 6,12,18 * * *')),
      ending: (_, hours) => (hours < 7 ? {} : { run: null, status: 'problems', recovery: 'usage', error: 'no file' }),
      hours: 24,
    });
    expect(runs).toEqual(['06:00 a', '12:00 a', '18:00 a']);
    expect(error).toBeNull();
  });

  test('it continues with the mirror’s environments while they cannot be listed', async () => {
    const list = () => {
      throw new SyncError('run', 'the service is away');
    };
    const { runs, error, listings } = await live({ ...synced(env('a', '0 3 * * *')), list, hours: 3.5 });
    expect(listings).toEqual(['00:00', '01:00', '02:00', '03:00']);
    expect(runs).toEqual(['03:00 a']);
    expect(error).toBeNull();
  });

  test.each(['usage', 'token'] as const)(
    'it continues if a listing that worked before is refused: %s',
    async (recovery) => {
      const list = (hours: number) => {
        if (hours > 2) throw new SyncError(recovery, 'refused');
        return [env('a', '0 6 * * *')];
      };
      const { runs, error } = await live({ ...synced(env('a', '0 6 * * *')), list, hours: 7 });
      expect(runs).toEqual(['06:00 a']);
      expect(error).toBeNull();
    },
  );

  test('it lists environments every minute while none is known', async () => {
    const list = (hours: number) => {
      if (hours < 0.04) throw new SyncError('run', 'the service is away');
      return [env('a', '0 6 * * *')];
    };
    const { runs, listings } = await live({ list, hours: 0.5 });
    expect(listings).toEqual(['00:00', '00:01', '00:02', '00:03']);
    expect(runs).toEqual(['00:03 a']);
  });
});

describe('nextScheduleStep', () => {
  const scheduledRun = { environment: env('a'), cron: null, due: '2026-11-20T02:00:00.000000Z' };

  test('it waits for the next run or the next listing, whichever comes first', () => {
    const early = '2026-11-20T00:30:00.000000Z';
    expect(nextScheduleStep([scheduledRun], early, MIDNIGHT)).toEqual({ do: 'wait', until: early });
    expect(nextScheduleStep([{ ...scheduledRun, due: early }], addSeconds(MIDNIGHT, 3600), MIDNIGHT)).toEqual({
      do: 'wait',
      until: early,
    });
  });

  test('a run takes precedence over a listing, because a run lists too', () => {
    expect(nextScheduleStep([scheduledRun], scheduledRun.due, scheduledRun.due)).toEqual({
      do: 'run',
      due: [scheduledRun],
    });
  });

  test('it lists if nothing is ever due', () => {
    expect(nextScheduleStep([{ ...scheduledRun, due: null }], MIDNIGHT, MIDNIGHT)).toEqual({ do: 'list' });
  });
});
