import { describe, expect, test } from 'vitest';
import { decodePage } from '../../../src/core/decode/decode.ts';
import { LAST_INSTANT } from '../../../src/core/time/instant.ts';
import { FEED_STREAMS, STAGED_STREAMS, STREAM_TABLES } from '../catalogue.ts';
import { SAMPLES } from '../samples.ts';
import {
  asset,
  column,
  edge,
  execution,
  gone,
  link,
  minute,
  range,
  START,
  SWEEP,
  score,
  test1,
  type Workbench,
  YESTERDAY,
} from './workbench.ts';

/** How staged rows replace a table's rows, and to which environment they belong. */
export function describeReplacements(bench: Workbench): void {
  const { commit, rows, show, on, stream } = bench;

  describe('a snapshot that replaces its table (R16)', () => {
    const place = async (...items: object[]) => {
      await bench.gather('latest_test_executions', items);
      return bench.settle('latest_test_executions', { replace: 'all' });
    };
    const latest = () => rows('latest_test_executions', ['sub_test_unique_id', 'id', 'mirrored_at']);

    test('readers see the complete previous snapshot until the round ends', async () => {
      await place(execution('r', 'run-1'));
      const before = await latest();
      await bench.gather('latest_test_executions', [execution('r', 'run-2'), execution('s', 'run-1')]);
      expect(await latest()).toEqual(before);
    });

    test('only rows that differ are written, and rows that were not returned are removed (R21)', async () => {
      await place(execution('r', 'run-1'), execution('s', 'run-1', { failure_count: null }), execution('t', 'run-1'));
      const [, untouched] = await latest();
      bench.setClock(minute(1));
      const items = [
        execution('s', 'run-1', { failure_count: null }),
        execution('t', 'run-2'),
        execution('u', 'run-1'),
      ];
      expect(await place(...items)).toEqual({ written: 2, deleted: 1, rejected: 0 });
      const [same, ...written] = await latest();
      expect(same).toEqual(untouched);
      expect(written.map((row) => [row['sub_test_unique_id'], row['id']])).toEqual([
        ['t', 'run-2'],
        ['u', 'run-1'],
      ]);
      expect(written.every((row) => String(row['mirrored_at']) > minute(1))).toBe(true);
    });

    test('JSON is compared by value, regardless of the order of its members (R21)', async () => {
      await place(execution('r', 'run-1', { a: { x: 1, y: 2 }, b: 1 }), execution('s', 'run-1', { a: 1, b: 1 }));
      const [untouched] = await latest();
      bench.setClock(minute(1));
      const items = [execution('r', 'run-1', { b: 1, a: { y: 2, x: 1 } }), execution('s', 'run-1', { b: 2, a: 1 })];
      expect(await place(...items)).toEqual({ written: 1, deleted: 0, rejected: 0 });
      expect((await latest())[0]).toEqual(untouched);
      expect(await rows('latest_test_executions', ['extra'])).toEqual([
        { extra: '{"a":{"x":1,"y":2},"b":1}' },
        { extra: '{"b":2,"a":1}' },
      ]);
    });

    test('of a row returned twice the later read counts', async () => {
      await bench.gather('latest_test_executions', [execution('s', 'run-1')], 1);
      await bench.gather('latest_test_executions', [execution('s', 'run-2')], 2);
      await bench.settle('latest_test_executions', { replace: 'all' });
      expect(await rows('latest_test_executions', ['id'])).toEqual([{ id: 'run-2' }]);
    });

    test('a rejected row counts as seen and stays (R12)', async () => {
      await place(execution('r', 'run-1'), execution('s', 'run-1'));
      await commit('latest_test_executions', { seen: { keys: [['s']], readNumber: 1 } });
      expect(await bench.weigh('latest_test_executions', { replace: 'all' })).toEqual({ live: 2, toRemove: 1 });
      await bench.settle('latest_test_executions', { replace: 'all' });
      expect(await rows('latest_test_executions', ['sub_test_unique_id'])).toEqual([{ sub_test_unique_id: 's' }]);
    });

    test('child rows are replaced along with their rows', async () => {
      const placeScores = async (...items: object[]) => {
        await bench.gather('asset_health_scores', items);
        return bench.settle('asset_health_scores', { replace: 'all' });
      };
      const parts = () => rows('asset_health_score_dimensions', ['asset_id', 'dimension', 'score', 'mirrored_at']);
      await placeScores(score('a', 0.5, { freshness: 0.5, validity: 1 }), score('b', 1, { validity: 1 }));
      const [untouched] = await parts();
      bench.setClock(minute(1));
      await placeScores(score('a', 0.5, { freshness: 0.5, accuracy: 1 }));
      expect((await parts()).map((row) => `${row['asset_id']} ${row['dimension']}`)).toEqual([
        'a accuracy',
        'a freshness',
      ]);
      expect((await parts())[1]).toEqual(untouched);
      expect(await rows('asset_health_scores', ['asset_id'])).toEqual([{ asset_id: 'a' }]);
    });
  });

  describe('column lineage (R18)', () => {
    const edges = async () =>
      (await rows('column_lineage', ['downstream_column_id', 'upstream_column_id'])).map((row) =>
        Object.values(row).join('←'),
      );
    const place = async (how: 'all' | 'marked', lastMark: number, ...items: object[]) => {
      await bench.gather('column_lineage', items);
      return bench.settle('column_lineage', { replace: how, lastMark });
    };
    const touched = async (since: string) =>
      (await rows('columns', ['id', 'mirrored_at']))
        .filter((row) => String(row['mirrored_at']) >= since)
        .map((row) => row['id']);

    test('the edges of marked columns are replaced, or removed if there are none; others stay', async () => {
      await show('columns', [column('a'), column('b'), column('c')], { marking: [] });
      await place('all', 0, edge('a', 'x'), edge('b', 'x'), edge('b', 'y'), edge('c', 'x'));
      await show('columns', [column('a', { name: 'n' }), column('b', { name: 'n' })]);
      expect(await place('marked', 2, edge('b', 'y'), edge('b', 'z'), edge('c', 'z'))).toMatchObject({
        written: 1,
        deleted: 2,
      });
      expect(await edges()).toEqual(['b←y', 'b←z', 'c←x']);
      expect(await rows('marks')).toEqual([]);
    });

    test('marks made after the read began stay, and their columns keep their edges', async () => {
      await show('columns', [column('a'), column('b')], { marking: [] });
      await place('all', 0, edge('a', 'x'), edge('b', 'x'));
      await show('columns', [column('a', { name: 'n' }), column('b', { name: 'n' })]);
      await place('marked', 1, edge('b', 'y'));
      expect(await edges()).toEqual(['b←x']);
      expect(await rows('marks', ['id', 'number'])).toEqual([{ id: 'b', number: 2 }]);
    });

    test('only edges of live downstream columns are kept', async () => {
      await show('columns', [column('a'), column('b', gone())]);
      await place('all', 9, edge('a', 'b'), edge('b', 'a'), edge('unknown', 'a'));
      expect(await edges()).toEqual(['a←b']);
    });

    test('a column whose edges change gets a new mirrored_at, and no other column does (R21)', async () => {
      await show(
        'columns',
        ['come', 'gone', 'same', 'unmarked'].map((id) => column(id)),
        { marking: [] },
      );
      await place('all', 0, edge('gone', 'x'), edge('same', 'x'), edge('unmarked', 'x'));
      await commit('columns', {
        marks: ['come', 'gone', 'same'].map((id) => ({ stream: 'column_lineage', id }) as const),
      });
      bench.setClock(minute(1));
      await place('marked', 3, edge('come', 'x'), edge('same', 'x'));
      expect(await touched(minute(1))).toEqual(['come', 'gone']);
    });

    test('the first edges of a column give it a new mirrored_at (R21)', async () => {
      await show('columns', [column('a'), column('b')], { marking: [] });
      await commit('columns', { marks: [{ stream: 'column_lineage', id: 'a' }] });
      bench.setClock(minute(1));
      await place('marked', 1, edge('a', 'x'));
      expect(await touched(minute(1))).toEqual(['a']);
    });

    test('replacing all lineage gives a new mirrored_at to exactly the columns whose edges differ (R21)', async () => {
      await show(
        'columns',
        ['come', 'gone', 'less', 'more', 'none', 'same'].map((id) => column(id)),
        { marking: [] },
      );
      bench.setClock(minute(1));
      await place('all', 0, ...['gone', 'less', 'more', 'same'].map((id) => edge(id, 'x')), edge('less', 'y'));
      expect(await touched(minute(1))).toEqual(['gone', 'less', 'more', 'same']);
      bench.setClock(minute(2));
      await place('all', 0, ...['come', 'less', 'more', 'same'].map((id) => edge(id, 'x')), edge('more', 'y'));
      expect(await touched(minute(2))).toEqual(['come', 'gone', 'less', 'more']);
    });

    test('a column and its new edges have the time of the commit that applied them (R21)', async () => {
      await show('columns', [column('a')], { marking: [] });
      const at = async () => (await rows('columns', ['mirrored_at']))[0]?.['mirrored_at'];
      const shown = String(await at());
      await place('all', 0, edge('a', 'x'));
      expect(String(await at()) > shown).toBe(true);
      expect(await rows('column_lineage', ['mirrored_at'])).toEqual([{ mirrored_at: await at() }]);
    });

    test('a column whose edges are held back gets a new mirrored_at only when they are released (R14, R21)', async () => {
      await show('columns', [column('a'), column('b')], { marking: [] });
      await place('all', 0, edge('a', 'x'), edge('b', 'x'));
      bench.setClock(minute(1));
      await bench.gather('column_lineage', [edge('b', 'x')]);
      await bench.settle('column_lineage', { replace: 'all', hold: true });
      expect([await edges(), await touched(minute(1))]).toEqual([['a←x', 'b←x'], []]);
      bench.setClock(minute(2));
      await bench.gather('column_lineage', [edge('b', 'x')]);
      await bench.settle('column_lineage', { replace: 'all', isWhole: true, isReleased: true });
      expect([await edges(), await touched(minute(2))]).toEqual([['b←x'], ['a']]);
    });
  });

  describe('an environment', () => {
    const TABLES = [
      ...STREAM_TABLES,
      ...[
        'rejected_rows',
        'sync_checkpoints',
        'marks',
        'seen_pages',
        'asset_lineage_staged',
        'held_removals',
        'test_readings',
        'test_execution_gaps',
        'history_failures',
      ],
    ];
    const all = (env: string) => Promise.all(TABLES.map((table) => rows(table, [], env)));

    /** Adds rows to every table. */
    async function fill(env: string): Promise<void> {
      for (const name of FEED_STREAMS)
        await show(name, [{ ...SAMPLES[name](`${name} 1`, 'b'), synced_at: YESTERDAY }], { env });
      await show('assets', [asset('a'), asset('b'), asset('gone', gone())], { env });
      await show('columns', [column('a'), column('b'), column('c')], { env });
      await show('tests', [test1('t')], { env });
      await bench.gather('column_lineage', [edge('a', 'b'), edge('b', 'c')], 1, env);
      await bench.settle('column_lineage', { replace: 'all' }, { env });
      for (const [name, item] of [
        ['asset_lineage', link('a', 'b')],
        ['latest_test_executions', execution('s', 'run-1')],
        ['asset_health_scores', score('a', 0.5, { validity: 1 })],
      ] as const) {
        await commit(
          name,
          { archived: bench.decoded(name, [item]), staged: { rows: bench.decoded(name, [item]), readNumber: 1 } },
          { env },
        );
        await bench.settle(name, { replace: 'all' }, { env });
      }
      await bench.gather('asset_lineage', [link('a', 'c')], 1, env);
      await bench.settle('columns', { ...SWEEP, hold: true }, { env });
      const gap = { from: START, to: START };
      await commit(
        'test_executions',
        { historyRead: { testId: 't', readAt: START, mirroredAt: START, gaps: [gap], since: 1 } },
        { env },
      );
      await commit('test_executions', { unreadHistory: { testId: 't', pageLimit: 50 } }, { env });
      const { rejected } = decodePage(stream('columns'), [{ id: 'bad' }]);
      const marks = range(3).map((id) => ({ stream: 'columns', id }) as const);
      await commit('columns', { rejected, marks, seen: { keys: [['a']], readNumber: 1 } }, { env });
    }

    test('the commits of one never touch another', async () => {
      await fill('f');
      const before = await all('f');
      expect(before.every((table) => table.length > 0)).toBe(true);
      await fill('e');
      await show('columns', [column('a', gone()), column('b', { name: 'n' })]);
      await show('assets', [asset('a', gone())]);
      await commit('columns', {
        clearedMarks: { ids: range(3), lastMark: null },
        returnedKeys: [['bad']],
      });
      await commit('columns', { kind: 'discard', forget: 'all' });
      await bench.settle('columns', { isReleased: true });
      await commit('tests', { sweptRows: { by: 'asset_id', ids: ['a'], sinceRead: 1, at: START, isConfirmed: true } });
      for (const name of FEED_STREAMS) await bench.settle(name, { ...SWEEP, lastMark: 9999 });
      for (const name of STAGED_STREAMS) await bench.settle(name, { replace: 'all', lastMark: 9999 });
      expect((await rows('columns', ['deletion'])).filter((row) => row['deletion'] === null)).toEqual([]);
      expect(await rows('column_lineage')).toEqual([]);
      expect(await all('f')).toEqual(before);
    });

    test('it sees nothing of another', async () => {
      await fill('f');
      expect((await on().existing(stream('columns'), [['a']])).size).toBe(0);
      expect(await on().facts(stream('columns'), { since: null, settledBefore: LAST_INSTANT })).toMatchObject({
        hasRows: false,
      });
      const query = {
        about: 'candidates',
        after: '',
        lastMark: 9,
        before: null,
        run: 1,
        mode: 'scan',
        settledBefore: LAST_INSTANT,
      } as const;
      expect((await on().backlog(stream('columns'), query)).ids).toEqual([]);
      expect(await on().dueTests({ limit: 9, run: 1, fresh: null })).toEqual([]);
      expect(await on().outstanding(stream('columns'))).toEqual({ heldRemovals: 0, rejected: 0 });
    });
  });
}
