import { describe, expect, test } from 'vitest';
import type { PruningRule } from '../../../src/core/decide/retention.ts';
import { execution, range, score, type Workbench } from './workbench.ts';

const BEFORE = '2026-11-10T00:00:00.000000Z';
const HISTORY = 'asset_health_score_history';

const rule = (history: PruningRule['history'], action: PruningRule['action'], before = BEFORE): PruningRule => ({
  history,
  action,
  before,
});

/** What retention removes from the histories (R17). */
export function describePruning(bench: Workbench): void {
  const { commit, rows, on, decoded } = bench;
  const scores = (...items: object[]) =>
    commit('asset_health_scores', { archived: decoded('asset_health_scores', items) });
  const runs = (...items: object[]) => commit('test_executions', { archived: decoded('test_executions', items) });
  const run = (id: string, start_time: string, status: string, sub = 's'): object =>
    execution(sub, id, { start_time: `2026-11-${start_time}`, status });
  const prune = async (pruned: PruningRule): Promise<number> => {
    let total = 0;
    for (;;) {
      const removed = await on().pruneHistory(pruned);
      if (removed === null) return total;
      total += removed;
    }
  };
  const ids = async (): Promise<unknown[]> => (await rows('test_executions', ['id'])).map(({ id }) => id);
  const buckets = async () => (await rows(HISTORY, ['asset_id', 'dimension', 'bucket_at'])).map(Object.values);

  describe('pruning', () => {
    test('thinning keeps the last score of each day, asset and dimension, and every later score (R17)', async () => {
      for (const at of ['08T01', '08T23', '09T05', '09T07', '10T00', '10T01'])
        await scores(score('a', 0.5, at === '08T23' ? {} : { accuracy: 1 }, `2026-11-${at}:00:00`));
      await scores(score('b', 0.5, {}, '2026-11-08T03:00:00'));
      expect(await prune(rule(HISTORY, 'thin'))).toBe(3);
      expect(await buckets()).toEqual([
        ['a', 'accuracy', '2026-11-08T01:00:00.000000Z'],
        ['a', 'accuracy', '2026-11-09T07:00:00.000000Z'],
        ['a', 'accuracy', '2026-11-10T00:00:00.000000Z'],
        ['a', 'accuracy', '2026-11-10T01:00:00.000000Z'],
        ['a', 'total', '2026-11-08T23:00:00.000000Z'],
        ['a', 'total', '2026-11-09T07:00:00.000000Z'],
        ['a', 'total', '2026-11-10T00:00:00.000000Z'],
        ['a', 'total', '2026-11-10T01:00:00.000000Z'],
        ['b', 'total', '2026-11-08T03:00:00.000000Z'],
      ]);
    });

    test('thinning changes no mean of a day, and deleting scores deletes the means of their days (R17)', async () => {
      for (const at of ['08T01', '08T23', '10T01']) await scores(score('a', 0.5, {}, `2026-11-${at}:00:00`));
      const renewed = async () => {
        while ((await on().renewDay()) !== null);
        return (await rows('asset_health_means', ['day', 'score'])).map(({ day }) => day);
      };
      expect(await renewed()).toEqual(['2026-11-08', '2026-11-10']);
      await prune(rule(HISTORY, 'thin'));
      expect(await renewed()).toEqual(['2026-11-08', '2026-11-10']);
      await prune(rule(HISTORY, 'delete'));
      expect(await renewed()).toEqual(['2026-11-10']);
      expect(await buckets()).toEqual([['a', 'total', '2026-11-10T01:00:00.000000Z']]);
    });

    test('older executions are deleted, and those from the day on stay (R17)', async () => {
      await runs(run('1', '08T01:00:00', 'FAIL'), run('2', '09T23:59:59', 'PASS'), run('3', '10T00:00:00', 'PASS'));
      expect(await prune(rule('test_executions', 'delete'))).toBe(2);
      expect(await ids()).toEqual(['3']);
    });

    test('an incident that lasts beyond the day keeps its first run, and only that (R17)', async () => {
      await runs(
        run('1', '01T01:00:00', 'FAIL'),
        run('2', '02T01:00:00', 'PASS'),
        run('3', '03T01:00:00', 'SKIPPED'),
        run('4', '04T01:00:00', 'WARN'),
        run('5', '05T01:00:00', 'FAIL'),
        run('6', '06T01:00:00', 'SKIPPED'),
        run('7', '11T01:00:00', 'FAIL'),
        run('8', '05T01:00:00', 'PASS', 'other'),
      );
      await prune(rule('test_executions', 'delete'));
      expect(await ids()).toEqual(['4', '7']);
      // Days later it still lasts, then it ends.
      await prune(rule('test_executions', 'delete', '2026-11-12T00:00:00.000000Z'));
      expect(await ids()).toEqual(['4']);
      await runs(run('9', '12T01:00:00', 'PASS'));
      await prune(rule('test_executions', 'delete', '2026-11-13T00:00:00.000000Z'));
      expect(await ids()).toEqual([]);
    });

    test('what is pruned is recorded with the time before which it is complete (R17)', async () => {
      await runs(run('1', '08T01:00:00', 'PASS'));
      const recorded = () =>
        rows('pruned_history', ['action', 'complete_before', 'pruning_before', 'pruned_through', 'row_count']);
      expect(await on().pruneHistory(rule('test_executions', 'delete'))).toBe(1);
      expect(await recorded()).toMatchObject([{ complete_before: null, pruning_before: BEFORE, row_count: 1 }]);
      await prune(rule('test_executions', 'delete'));
      expect(await recorded()).toEqual([
        { action: 'delete', complete_before: BEFORE, pruning_before: null, pruned_through: '', row_count: 1 },
      ]);
      expect(await bench.state().prunedHistory('other')).toEqual([]);
      expect(await bench.state().prunedHistory('e')).toMatchObject([
        { env_id: 'e', history: 'test_executions', complete_before: BEFORE },
      ]);
      expect(await on().pruneHistory(rule('test_executions', 'delete'))).toBeNull();
    });

    test('a pruning continues after the slice where it stopped, with the time it began with (R17)', async () => {
      await scores(...range(120, 'a').map((id) => score(id, 0.5, {}, '2026-11-08T01:00:00')));
      expect([
        await on().pruneHistory(rule(HISTORY, 'delete')),
        await on().pruneHistory(rule(HISTORY, 'delete')),
      ]).toEqual([50, 50]);
      const later = rule(HISTORY, 'delete', '2026-11-11T00:00:00.000000Z');
      expect(await on().pruneHistory(later)).toBe(20);
      expect(await on().pruneHistory(later)).toBe(0);
      expect((await bench.state().prunedHistory('e'))[0]?.complete_before).toBe(BEFORE);
    });

    test('a pruning that goes further than wanted now is given up (R17)', async () => {
      await scores(...range(60, 'a').map((id) => score(id, 0.5, {}, '2026-11-08T01:00:00')));
      await on().pruneHistory(rule(HISTORY, 'delete'));
      await prune(rule(HISTORY, 'delete', '2026-11-07T00:00:00.000000Z'));
      expect(await buckets()).toHaveLength(10);
    });
  });
}
