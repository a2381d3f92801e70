import { describe, expect, test } from 'vitest';
import { asset, gone, minute, score, type Workbench } from './workbench.ts';

const DAY_10 = '2026-11-10T08:00:00';
const DAY_11 = '2026-11-11T08:00:00';

/** The stored mean scores of a day, which `health_daily` would compute slowly. */
export function describeDayMeans(bench: Workbench): void {
  const { commit, rows, show, on, decoded } = bench;
  const SCORES = 'asset_health_scores';
  const archive = (...items: object[]) => commit(SCORES, { archived: decoded(SCORES, items) });
  const kept = () => rows('asset_health_means', ['day', 'dimension', 'score', 'asset_count']);
  const renewAll = async (): Promise<void> => {
    while ((await on().renewDay()) !== null);
  };
  const days = async () => new Set((await kept()).map(({ day }) => day));

  describe('the mean scores of a day', () => {
    test('they are the means of the last buckets of live assets', async () => {
      await show('assets', [asset('a'), asset('b'), asset('gone', gone())]);
      await archive(
        score('a', 0.5, { accuracy: 0.25 }, '2026-11-10T08:00:00'),
        score('gone', 1, { accuracy: 1 }, '2026-11-10T08:00:00'),
      );
      await archive(
        score('a', 1, { accuracy: 0.5 }, '2026-11-10T23:59:59.999999'),
        score('b', 0.5, { freshness: 0.75 }, '2026-11-10T00:00:00'),
        score('unknown', 0.75, {}, '2026-11-11T00:00:00'),
      );
      await renewAll();
      expect(await kept()).toEqual([
        { day: '2026-11-10', dimension: 'accuracy', score: 0.5, asset_count: 1 },
        { day: '2026-11-10', dimension: 'freshness', score: 0.75, asset_count: 1 },
        { day: '2026-11-10', dimension: 'total', score: 0.75, asset_count: 2 },
        { day: '2026-11-11', dimension: 'total', score: 0.75, asset_count: 1 },
      ]);
    });

    test('an asset leaves them on every day when it is deleted, and returns when it is restored', async () => {
      await show('assets', [asset('a'), asset('b')]);
      await archive(score('a', 1, {}, DAY_10), score('b', 0, {}, DAY_10));
      await archive(score('a', 1, {}, DAY_11), score('b', 0.5, {}, DAY_11));
      await renewAll();
      const before = await kept();
      await show('assets', [asset('b', gone())]);
      await renewAll();
      expect(await kept()).toMatchObject([
        { score: 1, asset_count: 1 },
        { score: 1, asset_count: 1 },
      ]);
      await show('assets', [asset('b', { synced_at: minute(5) })]);
      await renewAll();
      expect(await kept()).toEqual(before);
      await show('assets', [asset('a', gone(minute(6))), asset('b', gone(minute(6)))]);
      await renewAll();
      expect(await kept()).toEqual([]);
    });

    test('an asset first known from its tombstone is left out', async () => {
      await archive(score('a', 1, {}, DAY_10), score('b', 0, {}, DAY_10));
      await renewAll();
      await show('assets', [asset('b', gone())]);
      await renewAll();
      expect(await kept()).toMatchObject([{ score: 1, asset_count: 1 }]);
    });

    test('scores of a page count even if its snapshot was never applied', async () => {
      await archive(score('a', 0.5, {}, DAY_10));
      await bench.gather(SCORES, [score('a', 0.25, {}, DAY_11)]);
      await commit(SCORES, { archived: [] });
      await archive(score('a', 0.25, {}, DAY_11));
      await renewAll();
      expect(await days()).toEqual(new Set(['2026-11-10', '2026-11-11']));
    });

    test('they are computed one day at a time, newest first, until no day is stale', async () => {
      await archive(score('a', 0.5, { accuracy: 1 }, DAY_10), score('b', 0.5, {}, DAY_11));
      await commit(SCORES, { archived: decoded(SCORES, [score('a', 1)]) }, { env: 'other' });
      const stale = () => Promise.all(['e', 'other'].map((env) => bench.state().hasStaleDays(env)));
      expect(await stale()).toEqual([true, true]);
      expect(await on().renewDay()).toBe(3);
      expect(await days()).toEqual(new Set(['2026-11-11']));
      expect([await on().renewDay(), await on().renewDay()]).toEqual([3, null]);
      expect(await days()).toEqual(new Set(['2026-11-10', '2026-11-11']));
      expect(await stale()).toEqual([false, true]);
    });

    test('if they cannot be written, they stay unchanged and their day stays stale', async () => {
      await archive(score('a', 0.5, {}, DAY_10));
      await renewAll();
      const before = await kept();
      await archive(score('b', 1, {}, DAY_10));
      const mend = await bench.breakTable('asset_health_means');
      await expect(on().renewDay()).rejects.toThrow(expect.objectContaining({ name: 'SyncError' }));
      expect(await kept()).toEqual(before);
      await mend();
      await renewAll();
      expect(await kept()).toMatchObject([{ score: 0.75, asset_count: 2 }]);
    });

    test('they have the time of the last commit that they include', async () => {
      bench.setClock(minute(1));
      await archive(score('a', 0.5, {}, DAY_10));
      bench.setClock(minute(2));
      await renewAll();
      expect(await rows('asset_health_means', ['scores_at'])).toEqual([{ scores_at: minute(1) }]);
    });

    test('a day of any year from 0000 to 9999 can have them', async () => {
      await archive(score('a', 0.5, {}, '0000-02-29T23:00:00'), score('a', 1, {}, '9999-12-31T23:00:00'));
      await renewAll();
      expect(await days()).toEqual(new Set(['0000-02-29', '9999-12-31']));
    });

    test('a commit that changes no score and deletes or restores no asset makes no day stale', async () => {
      await show('assets', [asset('a')]);
      await archive(score('a', 0.5, {}, DAY_10));
      await renewAll();
      await show('assets', [asset('a', { name: 'new', synced_at: minute(1) }), asset('b')]);
      await archive();
      expect(await on().renewDay()).toBeNull();
    });
  });
}
