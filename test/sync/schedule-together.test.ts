import { describe, expect, test } from 'vitest';
import { env, live, synced } from './schedule-setup.ts';

describe('environments due at the same moment', () => {
  test('they share one run, which lists the environments once (R22)', async () => {
    const all = synced(env('a', '0 1 * * *'), env('b', '0 1,2 * * *'), env('c', '0 1 * * *'), env('d', '30 1 * * *'));
    const { runs, listings } = await live({ ...all, hours: 3 });
    expect(runs).toEqual(['01:00 a+b+c', '01:30 d', '02:00 b']);
    expect(listings).toEqual(['00:00']);
  });

  test('with --max-requests each has a run of its own', async () => {
    const all = synced(env('a', '0 1 * * *'), env('b', '0 1 * * *'));
    expect((await live({ ...all, rules: { together: false }, hours: 3 })).runs).toEqual(['01:00 a', '01:00 b']);
  });

  test('if one of them was just removed, the others run again at once', async () => {
    const all = synced(env('a', '0 1 * * *'), env('b', '0 1 * * *'), env('c', '0 1 * * *'));
    const { runs, error } = await live({
      ...all,
      list: (hours) => all.list?.(hours).filter(({ id }) => id !== 'b' || hours < 0.9) ?? [],
      ending: (environments) =>
        environments.some(({ id }) => id === 'b')
          ? { run: null, status: 'problems', recovery: 'usage', error: 'no environment b' }
          : {},
      hours: 2,
    });
    expect(runs).toEqual(['01:00 a+b+c', '01:00 a+c']);
    expect(error).toBeNull();
  });
});
