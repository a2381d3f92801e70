import { describe, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import { LAST_INSTANT } from '../../../src/core/time/instant.ts';
import { BATCH_ROWS } from '../../../src/destination/sql/write-rows.ts';
import { STREAM_NAMES } from '../../../src/streams/catalogue.ts';
import { STREAMS_OF_ASSETS } from '../catalogue.ts';
import {
  asset,
  column,
  gone,
  link,
  minute,
  range,
  START,
  SWEEP,
  test1,
  type Workbench,
  YESTERDAY,
} from './workbench.ts';

/** How rows are removed: sweeps, and held removals. */
export function describeRemovals(bench: Workbench): void {
  const { commit, rows, show, on, stream } = bench;
  const columns = async () =>
    (await rows('columns', ['id', 'deletion'])).map((row) => `${row['id']} ${row['deletion'] ?? 'lives'}`);
  const heldBack = async (name: 'columns' | 'assets' | 'asset_lineage' = 'columns') =>
    (await on().outstanding(stream(name))).heldRemovals;

  describe('a sweep (R12)', () => {
    test('it deletes the live rows that the scan did not see, as of the read (R10, R11)', async () => {
      await show('columns', [column('a'), column('b'), column('c', gone(YESTERDAY))]);
      await bench.see('columns', ['a']);
      bench.setClock(minute(1));
      expect(await bench.settle('columns', SWEEP)).toEqual({ written: 0, deleted: 1, rejected: 0 });
      expect(await rows('columns', ['id', 'deleted_at', 'deletion', 'mirrored_at'])).toEqual([
        { id: 'a', deleted_at: null, deletion: null, mirrored_at: START },
        { id: 'b', deleted_at: START, deletion: 'absent', mirrored_at: minute(1) },
        { id: 'c', deleted_at: YESTERDAY, deletion: 'tombstone', mirrored_at: START },
      ]);
    });

    test('without a server time it deletes rows as of the mirror’s own time (R1)', async () => {
      await show('columns', [column('a'), column('b', { asset_id: 'x' })]);
      bench.setClock(minute(1));
      await commit('columns', { sweptRows: { by: 'asset_id', ids: ['x'], sinceRead: 1, at: null, isConfirmed: true } });
      bench.setClock(minute(2));
      await bench.settle('columns', { sweep: { at: null } });
      expect((await rows('columns', ['id', 'deleted_at'])).map((row) => row['deleted_at'])).toEqual([
        minute(2),
        minute(1),
      ]);
    });

    test('it ends at the last candidate that was looked up', async () => {
      await show('columns', [column('a'), column('b'), column('c')]);
      await bench.settle('columns', { sweep: { at: START }, through: 'b' });
      expect(await columns()).toEqual(['a absent', 'b absent', 'c lives']);
    });

    test('it deletes any number of rows and marks their children (R13, R18)', async () => {
      const count = BATCH_ROWS + 1;
      const ids = range(count);
      await show(
        'assets',
        ids.map((id) => asset(id)),
        { marking: [] },
      );
      expect((await bench.settle('assets', SWEEP)).deleted).toBe(count);
      expect((await rows('marks', ['stream'])).filter((row) => row['stream'] === 'columns')).toHaveLength(count);
      expect(await rows('marks')).toHaveLength(count * STREAMS_OF_ASSETS.length);
    });

    test('it marks only for the markable streams', async () => {
      await show('assets', [asset('a')], { marking: [] });
      await bench.settle('assets', SWEEP, { marking: ['tests'] });
      expect(await rows('marks', ['stream', 'id'])).toEqual([{ stream: 'tests', id: 'a' }]);
    });

    test('the end of a round clears marks made before the round, and no later ones (R18)', async () => {
      const mark = (id: string) => commit('assets', { marks: [{ stream: 'columns', id }] });
      await mark('a');
      await mark('b');
      await bench.settle('columns', { lastMark: 1 });
      expect(await rows('marks', ['id'])).toEqual([{ id: 'b' }]);
    });
  });

  describe('the count of removals (R14)', () => {
    test('it is the number of live rows that would be removed', async () => {
      await show('columns', [column('a'), column('b'), column('c'), column('d', gone())]);
      await bench.see('columns', ['a']);
      expect(await bench.weigh('columns', SWEEP)).toEqual({ live: 3, toRemove: 2 });
      expect((await bench.weigh('columns', { sweep: { at: START }, through: 'b' }))?.toRemove).toBe(1);
      expect(await bench.weigh('columns', {})).toEqual({ live: 0, toRemove: 0 });
    });

    test('it leaves out rows whose parent was deleted by tombstone, but not by absence', async () => {
      await show('assets', [asset('dead'), asset('away')]);
      await show('assets', [asset('dead', gone())]);
      await bench.settle('assets', SWEEP);
      await show('columns', [column('1', { asset_id: 'dead' }), column('2', { asset_id: 'away' }), column('3')]);
      expect(await bench.weigh('columns', SWEEP)).toEqual({ live: 2, toRemove: 2 });
    });

    test('it leaves out edges if either end was deleted by tombstone', async () => {
      await show('assets', [asset('dead', gone()), asset('b'), asset('c')]);
      await bench.gather('asset_lineage', [link('dead', 'b'), link('b', 'dead'), link('b', 'c')]);
      await bench.settle('asset_lineage', { replace: 'all' });
      expect(await bench.weigh('asset_lineage', { replace: 'all' })).toEqual({ live: 1, toRemove: 1 });
    });
  });

  describe('the commit that ends a round', () => {
    const end = (isHeld: boolean) => {
      const roundEnd = {
        ...SWEEP,
        replace: null,
        through: null,
        rememberFrom: null,
        marksThrough: null,
        settledBefore: LAST_INSTANT,
        isReleased: false,
        lastMark: 0,
        run: 1,
      } as const;
      const checkpoint = { ...NO_PROGRESS, finishedCycle: 3 };
      const commit = {
        kind: 'round-end',
        checkpoint,
        roundEnd: { ...roundEnd, isWhole: true, isHeld: () => isHeld },
      } as const;
      return bench.on().commit(bench.stream('columns'), commit, new Set(STREAM_NAMES));
    };

    test('it holds removals back until their rows are returned again (R14)', async () => {
      await show('columns', [column('a'), column('b')]);
      await end(true);
      expect([await heldBack(), await columns()]).toEqual([2, ['a lives', 'b lives']]);
      await bench.see('columns', ['a', 'b']);
      await end(false);
      expect([await heldBack(), await columns()]).toEqual([0, ['a lives', 'b lives']]);
    });

    test('it returns the checkpoint as stored: a stream with marks left is not finished (R9)', async () => {
      await show('columns', [column('a')]);
      expect((await end(false)).checkpoint).toEqual({ ...NO_PROGRESS, finishedCycle: 3 });
      await bench.commit('columns', { marks: [{ stream: 'columns', id: 'a' }] });
      const done = await end(false);
      expect(done.checkpoint).toEqual({ ...NO_PROGRESS, finishedCycle: null });
      expect(done.checkpoint).toEqual(await bench.checkpoint('columns'));
    });
  });

  describe('a removal held back (R14)', () => {
    const HELD = { ...SWEEP, hold: true };
    const RELEASE = { isReleased: true };

    test('it is recorded and waits, while explained removals are applied at once', async () => {
      await show('assets', [asset('dead', gone())]);
      await show('columns', [column('a'), column('b'), column('c', { asset_id: 'dead' })]);
      await bench.see('columns', ['a']);
      expect((await bench.settle('columns', HELD)).deleted).toBe(1);
      expect(await columns()).toEqual(['a lives', 'b lives', 'c absent']);
      expect([await heldBack(), await heldBack('assets')]).toEqual([1, 0]);
    });

    test('it is applied once its parent is deleted by tombstone', async () => {
      await show('assets', [asset('x')]);
      await show('columns', [column('a'), column('b', { asset_id: 'x' })]);
      await bench.see('columns', ['a']);
      await bench.settle('columns', HELD);
      await show('assets', [asset('x', gone())]);
      await bench.see('columns', ['a']);
      await bench.settle('columns', SWEEP);
      expect([await columns(), await heldBack()]).toEqual([['a lives', 'b absent'], 0]);
    });

    test('it is not counted again, and stays held back while other rows are removed', async () => {
      await show('columns', [column('a'), column('b'), column('c')]);
      await bench.see('columns', ['a', 'c']);
      await bench.settle('columns', HELD);
      await bench.see('columns', ['a']);
      expect(await bench.weigh('columns', SWEEP)).toEqual({ live: 2, toRemove: 1 });
      await bench.settle('columns', SWEEP);
      expect(await columns()).toEqual(['a lives', 'b lives', 'c absent']);
      await bench.settle('columns', { sweep: { at: START }, through: 'a' });
      expect([await columns(), await heldBack()]).toEqual([['a absent', 'b lives', 'c absent'], 1]);
    });

    test.each([
      ['a feed', () => show('columns', [column('b')])],
      ['a feed that deletes it', () => show('columns', [column('b', gone())])],
      [
        'a scan',
        async () => {
          await bench.see('columns', ['a', 'b']);
          await bench.settle('columns', SWEEP);
        },
      ],
    ])('it ends when %s returns the row again', async (_, showAgain) => {
      await show('columns', [column('a'), column('b')]);
      await bench.see('columns', ['a']);
      await bench.settle('columns', HELD);
      expect(await heldBack()).toBe(1);
      await showAgain();
      expect(await heldBack()).toBe(0);
    });

    test('once released it is applied, as of the read that did not return the row', async () => {
      await show('columns', [column('a'), column('b')]);
      await bench.see('columns', ['a']);
      await bench.settle('columns', { ...HELD, sweep: { at: YESTERDAY } });
      await show('tests', [test1('t')]);
      expect((await bench.settle('columns', RELEASE)).deleted).toBe(1);
      expect(await rows('columns', ['id', 'deleted_at'])).toEqual([
        { id: 'a', deleted_at: null },
        { id: 'b', deleted_at: YESTERDAY },
      ]);
      expect([await heldBack(), await columns()]).toEqual([0, ['a lives', 'b absent']]);
      expect((await bench.settle('columns', RELEASE)).deleted).toBe(0);
    });

    test('the children of a released asset are marked (R13)', async () => {
      await show('assets', [asset('a')], { marking: [] });
      await bench.settle('assets', HELD);
      expect(await rows('marks')).toEqual([]);
      await bench.settle('assets', RELEASE);
      expect(await rows('marks', ['stream'])).toEqual(STREAMS_OF_ASSETS.toSorted().map((name) => ({ stream: name })));
    });
  });

  describe('a snapshot whose removals are held back (R14)', () => {
    const place = async (hold: boolean, ...items: object[]) => {
      await bench.gather('asset_lineage', items);
      return bench.settle('asset_lineage', { replace: 'all', hold });
    };
    const edges = async () =>
      (await rows('asset_lineage', ['upstream_asset_id', 'downstream_asset_id'])).map((row) =>
        Object.values(row).join('→'),
      );

    test('it writes its changes and applies the explained removals', async () => {
      await show('assets', [asset('dead', gone())]);
      await place(false, link('a', 'b'), link('b', 'dead'));
      expect(await place(true, link('c', 'd'))).toMatchObject({ written: 1, deleted: 1 });
      expect([await edges(), await heldBack('asset_lineage')]).toEqual([['a→b', 'c→d'], 1]);
    });

    test('its removals stay held back until the rows are returned again or released', async () => {
      await place(false, link('a', 'b'), link('b', 'c'));
      await place(true, link('c', 'd'));
      expect(await bench.weigh('asset_lineage', { replace: 'all' })).toEqual({ live: 1, toRemove: 1 });
      await place(false, link('c', 'd'), link('d', 'e'));
      expect([await edges(), await heldBack('asset_lineage')]).toEqual([['a→b', 'b→c', 'c→d', 'd→e'], 2]);
      await place(false, link('a', 'b'), link('c', 'd'));
      expect([await edges(), await heldBack('asset_lineage')]).toEqual([['a→b', 'b→c', 'c→d'], 1]);
      await bench.gather('asset_lineage', [link('a', 'b'), link('c', 'd')]);
      expect((await bench.settle('asset_lineage', { replace: 'all', isWhole: true, isReleased: true })).deleted).toBe(
        1,
      );
      expect([await edges(), await heldBack('asset_lineage')]).toEqual([['a→b', 'c→d'], 0]);
    });
  });
}
