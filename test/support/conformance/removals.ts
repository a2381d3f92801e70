import { describe, expect, test } from 'vitest';
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

/** How rows go: sweeps, and removals that wait. */
export function describeRemovals(bench: Workbench): void {
  const { commit, rows, show, on, stream } = bench;
  const columns = () => rows('columns', ['id', 'deletion']).map((row) => `${row['id']} ${row['deletion'] ?? 'lives'}`);
  const heldBack = (name: 'columns' | 'assets' | 'asset_lineage' = 'columns') => on().heldBack(stream(name));

  describe('a sweep (R12)', () => {
    test('takes what the scan did not see, as of the read (R10, R11)', () => {
      show('columns', [column('a'), column('b'), column('c', gone(YESTERDAY))]);
      bench.see('columns', ['a']);
      bench.setClock(minute(1));
      expect(bench.settle('columns', SWEEP)).toEqual({ written: 0, deleted: 1, rejected: 0 });
      expect(rows('columns', ['id', 'deleted_at', 'deletion', 'mirrored_at'])).toEqual([
        { id: 'a', deleted_at: null, deletion: null, mirrored_at: START },
        { id: 'b', deleted_at: START, deletion: 'absent', mirrored_at: minute(1) },
        { id: 'c', deleted_at: YESTERDAY, deletion: 'tombstone', mirrored_at: START },
      ]);
    });

    test('without a server time takes them as of the mirror’s own (R1)', () => {
      show('columns', [column('a'), column('b', { asset_id: 'x' })]);
      bench.setClock(minute(1));
      commit('columns', { disowned: { by: 'asset_id', ids: ['x'], sinceRead: 1, at: null } });
      bench.setClock(minute(2));
      bench.settle('columns', { sweep: { at: null } });
      expect(rows('columns', ['id', 'deleted_at']).map((row) => row['deleted_at'])).toEqual([minute(2), minute(1)]);
    });

    test('goes no further than the candidates that were asked for', () => {
      show('columns', [column('a'), column('b'), column('c')]);
      bench.settle('columns', { sweep: { at: START }, through: 'b' });
      expect(columns()).toEqual(['a absent', 'b absent', 'c lives']);
    });

    test('takes any number of rows, and what hangs on them (R13, R18)', () => {
      const ids = range(2500);
      show(
        'assets',
        ids.map((id) => asset(id)),
        { marking: [] },
      );
      expect(bench.settle('assets', SWEEP).deleted).toBe(2500);
      expect(rows('marks', ['stream']).filter((row) => row['stream'] === 'columns')).toHaveLength(2500);
      expect(rows('marks')).toHaveLength(5000);
    });

    test('makes marks only for streams that have them made', () => {
      show('assets', [asset('a')], { marking: [] });
      bench.settle('assets', SWEEP, { marking: ['tests'] });
      expect(rows('marks', ['stream', 'id'])).toEqual([{ stream: 'tests', id: 'a' }]);
    });

    test('pays the marks made before the round began, and leaves later ones (R18)', () => {
      const mark = (id: string) => commit('assets', { marks: [{ stream: 'columns', id }] });
      mark('a');
      mark('b');
      bench.settle('columns', { lastMark: 1 });
      expect(rows('marks', ['id'])).toEqual([{ id: 'b' }]);
    });
  });

  describe('the weight of a removal (R14)', () => {
    test('is how many of the live rows go', () => {
      show('columns', [column('a'), column('b'), column('c'), column('d', gone())]);
      bench.see('columns', ['a']);
      expect(bench.weigh('columns', SWEEP)).toEqual({ live: 3, going: 2 });
      expect(bench.weigh('columns', { sweep: { at: START }, through: 'b' }).going).toBe(1);
      expect(bench.weigh('columns', {})).toEqual({ live: 0, going: 0 });
    });

    test('leaves out rows whose owner went by tombstone, not by absence', () => {
      show('assets', [asset('dead'), asset('away')]);
      show('assets', [asset('dead', gone())]);
      bench.settle('assets', SWEEP);
      show('columns', [column('1', { asset_id: 'dead' }), column('2', { asset_id: 'away' }), column('3')]);
      expect(bench.weigh('columns', SWEEP)).toEqual({ live: 2, going: 2 });
    });

    test('of edges leaves out those of which either end went by tombstone', () => {
      show('assets', [asset('dead', gone()), asset('b'), asset('c')]);
      bench.gather('asset_lineage', [link('dead', 'b'), link('b', 'dead'), link('b', 'c')]);
      bench.settle('asset_lineage', { replace: 'all' });
      expect(bench.weigh('asset_lineage', { replace: 'all' })).toEqual({ live: 1, going: 1 });
    });
  });

  describe('a removal held back (R14)', () => {
    const HELD = { ...SWEEP, hold: true };

    test('waits and is remembered; explained ones go at once', () => {
      show('assets', [asset('dead', gone())]);
      show('columns', [column('a'), column('b'), column('c', { asset_id: 'dead' })]);
      bench.see('columns', ['a']);
      expect(bench.settle('columns', HELD).deleted).toBe(1);
      expect(columns()).toEqual(['a lives', 'b lives', 'c absent']);
      expect([heldBack(), heldBack('assets')]).toEqual([1, 0]);
    });

    test('goes after all once its owner has gone by tombstone', () => {
      show('assets', [asset('x')]);
      show('columns', [column('a'), column('b', { asset_id: 'x' })]);
      bench.see('columns', ['a']);
      bench.settle('columns', HELD);
      show('assets', [asset('x', gone())]);
      bench.see('columns', ['a']);
      bench.settle('columns', SWEEP);
      expect([columns(), heldBack()]).toEqual([['a lives', 'b absent'], 0]);
    });

    test('weighs no more, and stays held back through rounds that remove other rows', () => {
      show('columns', [column('a'), column('b'), column('c')]);
      bench.see('columns', ['a', 'c']);
      bench.settle('columns', HELD);
      bench.see('columns', ['a']);
      expect(bench.weigh('columns', SWEEP)).toEqual({ live: 2, going: 1 });
      bench.settle('columns', SWEEP);
      expect(columns()).toEqual(['a lives', 'b lives', 'c absent']);
      bench.settle('columns', { sweep: { at: START }, through: 'a' });
      expect([columns(), heldBack()]).toEqual([['a absent', 'b lives', 'c absent'], 1]);
    });

    test.each([
      ['a feed', () => show('columns', [column('b')])],
      ['a feed that shows its deletion', () => show('columns', [column('b', gone())])],
      [
        'a scan',
        () => {
          bench.see('columns', ['a', 'b']);
          bench.settle('columns', SWEEP);
        },
      ],
    ])('ends when %s shows the rows again', (_, showAgain) => {
      show('columns', [column('a'), column('b')]);
      bench.see('columns', ['a']);
      bench.settle('columns', HELD);
      expect(heldBack()).toBe(1);
      showAgain();
      expect(heldBack()).toBe(0);
    });

    test('goes when it is let go, as of the read that did not show it, with what hangs on it', () => {
      show('columns', [column('a'), column('b')]);
      bench.see('columns', ['a']);
      bench.settle('columns', { ...HELD, sweep: { at: YESTERDAY } });
      show('tests', [test1('t')]);
      expect(commit('columns', { release: true })).toEqual({ written: 0, deleted: 1, rejected: 0 });
      expect(rows('columns', ['id', 'deleted_at'])).toEqual([
        { id: 'a', deleted_at: null },
        { id: 'b', deleted_at: YESTERDAY },
      ]);
      expect([heldBack(), columns()]).toEqual([0, ['a lives', 'b absent']]);
      expect(commit('columns', { release: true }).deleted).toBe(0);
    });

    test('of assets, let go, marks what they own (R13)', () => {
      show('assets', [asset('a')], { marking: [] });
      bench.settle('assets', HELD);
      expect(rows('marks')).toEqual([]);
      commit('assets', { release: true });
      expect(rows('marks', ['stream'])).toEqual([{ stream: 'columns' }, { stream: 'tests' }]);
    });
  });

  describe('a snapshot whose removals are held back (R14)', () => {
    const place = (hold: boolean, ...items: object[]) => {
      bench.gather('asset_lineage', items);
      return bench.settle('asset_lineage', { replace: 'all', hold });
    };
    const edges = () =>
      rows('asset_lineage', ['upstream_asset_id', 'downstream_asset_id']).map((row) => Object.values(row).join('→'));

    test('writes its changes all the same, and removes what is explained', () => {
      show('assets', [asset('dead', gone())]);
      place(false, link('a', 'b'), link('b', 'dead'));
      expect(place(true, link('c', 'd'))).toMatchObject({ written: 1, deleted: 1 });
      expect([edges(), heldBack('asset_lineage')]).toEqual([['a→b', 'c→d'], 1]);
    });

    test('keeps them through later snapshots, until they are shown again or let go', () => {
      place(false, link('a', 'b'), link('b', 'c'));
      place(true, link('c', 'd'));
      expect(bench.weigh('asset_lineage', { replace: 'all' })).toEqual({ live: 1, going: 1 });
      place(false, link('c', 'd'), link('d', 'e'));
      expect([edges(), heldBack('asset_lineage')]).toEqual([['a→b', 'b→c', 'c→d', 'd→e'], 2]);
      place(false, link('a', 'b'), link('c', 'd'));
      expect([edges(), heldBack('asset_lineage')]).toEqual([['a→b', 'b→c', 'c→d'], 1]);
      expect(commit('asset_lineage', { release: true }).deleted).toBe(1);
      expect([edges(), heldBack('asset_lineage')]).toEqual([['a→b', 'c→d'], 0]);
    });
  });
}
