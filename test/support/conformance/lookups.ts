import { describe, expect, test } from 'vitest';
import { decodePage } from '../../../src/core/decode.ts';
import type { OwedQuery } from '../../../src/core/destination.ts';
import {
  asset,
  column,
  edge,
  execution,
  gone,
  LAST_WEEK,
  link,
  minute,
  range,
  START,
  SWEEP,
  test1,
  type Workbench,
  YESTERDAY,
} from './workbench.ts';

const OWED = { after: '', lastMark: 9999, before: null, run: 1, mode: 'marked' } as const;

/** What a round depends on and still owes, and what its reads leave behind. */
export function describeLookups(bench: Workbench): void {
  const { commit, rows, show, on, stream } = bench;
  const facts = (name: Parameters<typeof stream>[0], since: string | null = null) => on().facts(stream(name), since);
  const owed = (name: Parameters<typeof stream>[0], about: OwedQuery['about'], given: Partial<OwedQuery> = {}) =>
    on().owed(stream(name), { ...OWED, about, ...given });
  const mark = (name: 'column_lineage' | 'table_assets' | 'columns' | 'tests', ...ids: string[]) =>
    commit('assets', { marks: ids.map((id) => ({ stream: name, id })) });

  describe('the facts of a round', () => {
    test('tell whether rows live, of typed assets those of their kind', () => {
      show('assets', [asset('a'), asset('b', gone()), asset('d', { kind: 'dream' })]);
      const some = (name: Parameters<typeof stream>[0]) => facts(name).hasRows;
      expect([some('assets'), some('table_assets'), some('bi_assets')]).toEqual([true, true, false]);
      show('assets', [asset('a', gone()), asset('d', gone())]);
      expect([some('assets'), some('table_assets')]).toEqual([false, false]);
    });

    test('count no mark that a round of the same run has left to a later one (R18)', () => {
      show('columns', [column('a'), column('b')], { marking: [] });
      mark('column_lineage', 'a', 'b');
      commit('column_lineage', { left: { ids: ['a'], lastMark: 2, run: 1, makes: false } });
      expect(facts('column_lineage').marks).toEqual({ inside: 1, outside: 0 });
      expect(owed('column_lineage', 'marked').ids).toEqual(['b']);
      expect(owed('column_lineage', 'marked', { run: 2 }).ids).toEqual(['a', 'b']);
    });

    test('count the marks by the reach of the feed; a row without a time is outside (R18)', () => {
      const items = [column('a'), column('b', { synced_at: LAST_WEEK }), column('c', { synced_at: null })];
      show('columns', [...items, column('d', gone())], { marking: [] });
      mark('column_lineage', 'a', 'b', 'c', 'd', 'unknown');
      expect(facts('column_lineage', YESTERDAY).marks).toEqual({ inside: 1, outside: 2 });
      expect(facts('column_lineage', null).marks).toEqual({ inside: 3, outside: 0 });
    });

    test('count only marks of rows of the kind, which may have changed (R22)', () => {
      show('assets', [asset('a'), asset('b', { kind: 'bi' })], { marking: [] });
      mark('table_assets', 'a', 'b');
      expect(facts('table_assets', YESTERDAY).marks).toEqual({ inside: 1, outside: 0 });
      expect(owed('table_assets', 'marked').ids).toEqual(['a']);
    });
  });

  describe('what is owed', () => {
    test('are the candidates of a sweep: live, not seen, in order (R12)', () => {
      show('columns', [column('b'), column('a'), column('d'), column('c'), column('B'), column('e', gone())]);
      bench.see('columns', ['c']);
      bench.see('assets', ['d']);
      expect(owed('columns', 'candidates').ids).toEqual(['B', 'a', 'b', 'd']);
      expect(owed('columns', 'candidates', { after: 'a' }).ids).toEqual(['b', 'd']);
    });

    test('are marked rows that live, made no later, synced before the bound, in order (R18)', () => {
      show('columns', [column('c'), column('a'), column('b', { synced_at: LAST_WEEK })], { marking: [] });
      show('columns', [column('d', { synced_at: null }), column('x', gone())], { marking: [] });
      mark('column_lineage', 'c', 'b', 'a', 'x', 'd');
      expect(owed('column_lineage', 'marked').ids).toEqual(['a', 'b', 'c', 'd']);
      expect(owed('column_lineage', 'marked', { lastMark: 2 }).ids).toEqual(['b', 'c']);
      expect(owed('column_lineage', 'marked', { before: YESTERDAY }).ids).toEqual(['b', 'd']);
      expect(owed('column_lineage', 'marked', { after: 'b' })).toEqual({ ids: ['c', 'd'], weighed: null });
    });

    test('is weighed against a scan of the live rows before the first is asked for (R13, R18, R22)', () => {
      show('columns', [column('x'), column('y'), column('z')], { marking: [] });
      bench.gather('column_lineage', [edge('x', 'y'), edge('x', 'z')]);
      bench.settle('column_lineage', { replace: 'all' });
      mark('column_lineage', 'x');
      expect(owed('column_lineage', 'marked').weighed).toEqual({ ids: 1, rows: 2 });
      mark('columns', 'a');
      expect(owed('columns', 'owned').weighed).toEqual({ ids: 1, rows: 3 });
      expect(owed('columns', 'candidates').weighed).toBeNull();
    });

    test('is left to a later run after the last one asked for, as far as it was not shown (R18)', () => {
      show('columns', [column('a'), column('b'), column('c'), column('d')], { marking: [] });
      mark('column_lineage', 'a', 'b', 'c', 'd');
      bench.gather('column_lineage', [edge('d', 'x')]);
      bench.settle('column_lineage', { replace: 'marked', through: 'b', lastMark: 4, run: 1 });
      expect(owed('column_lineage', 'marked', { run: 2 }).ids).toEqual(['c']);
    });

    test('is counted in full, though no more ids are given than a request may hold', () => {
      const ids = range(1500);
      show(
        'columns',
        ids.map((id) => column(id)),
      );
      expect(owed('column_lineage', 'marked')).toEqual({ ids: ids.slice(0, 1000), weighed: { ids: 1500, rows: 0 } });
    });

    test('are owners that moved, as long as they live or a row of theirs does (R13)', () => {
      show('assets', [asset('a'), asset('b'), asset('c')], { marking: [] });
      show('assets', [asset('b', gone()), asset('c', gone())], { marking: [] });
      show('columns', [column('1', { asset_id: 'b' }), column('2', { asset_id: 'c', ...gone() })], { marking: [] });
      mark('columns', 'a', 'b', 'c');
      expect(owed('columns', 'owned').ids).toEqual(['a', 'b']);
      expect(owed('columns', 'owned', { after: 'a' }).ids).toEqual(['b']);
      expect(owed('columns', 'owned', { lastMark: 1 }).ids).toEqual(['a']);
      expect(owed('tests', 'owned').ids).toEqual([]);
    });
  });

  describe('a test is due (R22)', () => {
    const dueIds = (most = 9) =>
      on()
        .dueTests(stream('test_executions'), most)
        .map(({ id }) => id);
    const due = () => on().dueTests(stream('test_executions'), 1)[0] ?? null;
    const placeLatest = (...items: object[]) => {
      bench.gather('latest_test_executions', items);
      bench.settle('latest_test_executions', { replace: 'all' });
    };
    const reading = { testId: 't', readAt: START, gap: null, since: 1 };

    test('when it was never read, each in turn, unless it is gone', () => {
      show('tests', [test1('u'), test1('t'), test1('s'), test1('s', gone())]);
      expect(due()).toEqual({
        id: 't',
        readAt: null,
        knownFrom: null,
        mirroredAt: START,
        pageLimit: null,
        hasRejected: 0,
      });
      expect([dueIds(), dueIds(1)]).toEqual([['t', 'u'], ['t']]);
    });

    test('again only when its latest execution changed since that reading began', () => {
      show('tests', [test1('t')]);
      placeLatest(execution('s', 'run-1'));
      commit('test_executions', { reading: { ...reading, mirroredAt: due()?.mirroredAt ?? '' } });
      expect(due()).toBeNull();
      bench.setClock(minute(1));
      placeLatest(execution('s', 'run-1'));
      expect(due()).toBeNull();
      placeLatest(execution('s', 'run-2'));
      expect(due()).toMatchObject({ id: 't', readAt: START });
    });

    test('and news that came while it was read are news still', () => {
      show('tests', [test1('t')]);
      const began = due()?.mirroredAt ?? '';
      bench.setClock(minute(1));
      placeLatest(execution('s', 'run-2'));
      commit('test_executions', { reading: { ...reading, mirroredAt: began } });
      expect(due()?.id).toBe('t');
    });

    test('those that failed last time after all others, then those never read, then the longest unread', () => {
      show(
        'tests',
        range(5).map((id) => test1(id)),
      );
      const [a = '', b = '', c = '', d = '', e = ''] = range(5);
      const read = (testId: string, readAt: string) =>
        commit('test_executions', { reading: { testId, readAt, mirroredAt: YESTERDAY, gap: null, since: 1 } });
      placeLatest(...[a, b].map((id) => execution(`${id}.1`, 'run-1', { test_id: id })));
      read(a, YESTERDAY);
      read(b, LAST_WEEK);
      commit('test_executions', { unreadHistory: { testId: c, pageLimit: null } });
      const ids = (run: number) =>
        on('e', run)
          .dueTests(stream('test_executions'), 9)
          .map(({ id }) => id);
      expect(ids(2)).toEqual([d, e, b, a, c]);
      expect(ids(1)).toEqual([d, e, b, a]);
    });

    test('while rows of its history stand rejected that the run has not met; a reading drops those it has not met (R20)', () => {
      show('tests', [test1('t'), test1('u')]);
      placeLatest(execution('s', 'run-1'));
      for (const testId of ['t', 'u'])
        commit('test_executions', { reading: { ...reading, testId, mirroredAt: minute(9) } });
      const broken = (id: string, test_id: string) =>
        decodePage(stream('test_executions'), [execution(id, id, { test_id, status: 7 })]).rejected;
      commit('test_executions', { rejected: [...broken('x', 't'), ...broken('y', 'u'), ...broken('z', 'away')] });
      expect(on('e', 1).dueTests(stream('test_executions'), 9)).toEqual([]);
      expect(on('e', 2).dueTests(stream('test_executions'), 9)).toMatchObject([
        { id: 't', readAt: START, hasRejected: 1 },
        { id: 'u', hasRejected: 1 },
      ]);
      commit('test_executions', { rejected: broken('w', 't') }, { run: 2 });
      commit('test_executions', { reading: { ...reading, mirroredAt: minute(9), since: 2 } }, { run: 2 });
      const standing = rows('rejected_rows', ['payload']).map((row) => JSON.parse(String(row['payload'])).id);
      expect(standing.sort()).toEqual(['w', 'y']);
    });

    test('in pages that may be smaller since one failed, until it is read and after (R24)', () => {
      show('tests', [test1('t')]);
      const limits = (run: number) =>
        on('e', run)
          .dueTests(stream('test_executions'), 9)
          .map(({ pageLimit }) => pageLimit);
      commit('test_executions', { unreadHistory: { testId: 't', pageLimit: 500 } });
      commit('test_executions', { unreadHistory: { testId: 't', pageLimit: null } }, { run: 2 });
      expect([limits(2), limits(3)]).toEqual([[], [500]]);
      commit('test_executions', { reading: { ...reading, mirroredAt: START } });
      bench.setClock(minute(1));
      placeLatest(execution('s', 'run-2'));
      expect(limits(2)).toEqual([500]);
    });

    test('with the start of the earliest execution known, and its gaps are kept', () => {
      show('tests', [test1('t')]);
      const items = [execution('s', 'run-1', { start_time: LAST_WEEK }), execution('s', 'run-2')];
      commit('test_executions', { archived: bench.decoded('test_executions', items) });
      expect(due()?.knownFrom).toBe(LAST_WEEK);
      commit('test_executions', {
        reading: { ...reading, mirroredAt: START, gap: { from: LAST_WEEK, to: YESTERDAY } },
      });
      expect(rows('test_execution_gaps', ['test_id', 'gap_from', 'gap_to'])).toEqual([
        { test_id: 't', gap_from: LAST_WEEK, gap_to: YESTERDAY },
      ]);
    });
  });

  describe('what a read saw and gathered (R7)', () => {
    const candidates = () => owed('columns', 'candidates').ids;

    test('is dropped by the number of the read', () => {
      show('columns', [column('a'), column('b'), column('c')]);
      bench.see('columns', ['a', 'b'], 1);
      bench.see('columns', ['b', 'c', 'c'], 2);
      commit('columns', { forget: 2 });
      expect(candidates()).toEqual(['c']);
      commit('columns', { forget: 'all' });
      expect(candidates()).toEqual(['a', 'b', 'c']);
    });

    test('is dropped of its own stream alone', () => {
      show('columns', [column('a')]);
      bench.see('columns', ['a']);
      commit('assets', { forget: 'all' });
      expect(candidates()).toEqual([]);
    });

    test('is not put in place once dropped', () => {
      bench.gather('asset_lineage', [link('a', 'b')], 1);
      bench.gather('asset_lineage', [link('b', 'c')], 2);
      commit('asset_lineage', { forget: 2 });
      bench.settle('asset_lineage', { replace: 'all' });
      expect(rows('asset_lineage', ['upstream_asset_id'])).toEqual([{ upstream_asset_id: 'a' }]);
    });

    test('is dropped when the round has ended', () => {
      show('columns', [column('a'), column('b')]);
      bench.see('columns', ['a']);
      bench.settle('columns', SWEEP);
      expect(candidates()).toEqual(['a']);
      bench.gather('column_lineage', [edge('a', 'b')]);
      bench.settle('column_lineage', { replace: 'all' });
      bench.settle('column_lineage', { replace: 'all' });
      expect(rows('column_lineage')).toEqual([]);
    });
  });

  describe('rows of owners that moved (R13)', () => {
    test('are absent when no read from the given one on saw them', () => {
      const owned = ['a', 'b', 'c'].map((id) => column(id, { asset_id: 'x' }));
      show('columns', [...owned, column('d', { asset_id: 'y' }), column('e', { asset_id: 'z' })]);
      bench.see('columns', ['a'], 1);
      bench.see('columns', ['b'], 2);
      bench.see('columns', ['c'], 3);
      const disowned = { by: 'asset_id', ids: ['x', 'y'], sinceRead: 2, at: START };
      expect(commit('columns', { disowned })).toEqual({ written: 0, deleted: 2, rejected: 0 });
      const absent = { deleted_at: START, deletion: 'absent' };
      const lives = { deleted_at: null, deletion: null };
      expect(rows('columns', ['id', 'deleted_at', 'deletion'])).toEqual([
        { id: 'a', ...absent },
        { id: 'b', ...lives },
        { id: 'c', ...lives },
        { id: 'd', ...absent },
        { id: 'e', ...lives },
      ]);
    });

    test('of tests seen by the first of the two reads stay', () => {
      show('tests', [test1('t'), test1('u')]);
      bench.see('tests', ['t'], 6);
      commit('tests', { disowned: { by: 'asset_id', ids: ['a'], sinceRead: 6, at: START } });
      expect(rows('tests', ['id', 'deletion']).map((row) => row['deletion'])).toEqual([null, 'absent']);
    });
  });

  test('a failure to look is an error that says what to do', () => {
    const mend = bench.breakTable('columns');
    expect(() => show('columns', [column('c')])).toThrow(expect.objectContaining({ recovery: 'run' }));
    mend();
  });
}
