import { describe, expect, test } from 'vitest';
import { decodePage } from '../../../src/core/decode/decode.ts';
import type { BacklogQuery, DueTest, DueTestsQuery } from '../../../src/core/ports/destination.ts';
import { addDays, addSeconds, LAST_INSTANT } from '../../../src/core/time/instant.ts';
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

const OWED = { after: '', lastMark: 9999, before: null, run: 1, mode: 'marked', settledBefore: LAST_INSTANT } as const;

/** What a round depends on, what it still has to look up, and what its reads store. */
export function describeLookups(bench: Workbench): void {
  const { commit, rows, show, on, stream } = bench;
  const facts = (name: Parameters<typeof stream>[0], since: string | null = null, settledBefore = LAST_INSTANT) =>
    on().facts(stream(name), { since, settledBefore });
  const owed = (name: Parameters<typeof stream>[0], about: BacklogQuery['about'], given: Partial<BacklogQuery> = {}) =>
    on().backlog(stream(name), { ...OWED, about, ...given });
  const mark = (name: 'column_lineage' | 'table_assets' | 'columns' | 'tests', ...ids: string[]) =>
    commit('assets', { marks: ids.map((id) => ({ stream: name, id })) });

  describe('the facts of a round', () => {
    test('they say whether there are live rows, for typed assets of their kind only', async () => {
      await show('assets', [asset('a'), asset('b', gone()), asset('d', { kind: 'dream' })]);
      const some = async (name: Parameters<typeof stream>[0]) => (await facts(name)).hasRows;
      expect([await some('assets'), await some('table_assets'), await some('bi_assets')]).toEqual([true, true, false]);
      await show('assets', [asset('a', gone()), asset('d', gone())]);
      expect([await some('assets'), await some('table_assets')]).toEqual([false, false]);
    });

    test('a mark that a round left to a later run is not due in this one (R18)', async () => {
      await show('columns', [column('a'), column('b')], { marking: [] });
      await mark('column_lineage', 'a', 'b');
      await commit('column_lineage', { leftMarks: { ids: ['a'], lastMark: 2, run: 1, makes: false } });
      expect((await facts('column_lineage')).marks).toEqual({ inside: 1, outside: 0, isDue: true });
      expect((await owed('column_lineage', 'marked')).ids).toEqual(['b']);
      expect((await owed('column_lineage', 'marked', { run: 2 })).ids).toEqual(['a', 'b']);
    });

    test('they count marks inside and outside the reach of the feed; timeless rows are outside (R18)', async () => {
      const items = [column('a'), column('b', { synced_at: LAST_WEEK }), column('c', { synced_at: null })];
      await show('columns', [...items, column('d', gone())], { marking: [] });
      await mark('column_lineage', 'a', 'b', 'c', 'd', 'unknown');
      expect((await facts('column_lineage', YESTERDAY)).marks).toEqual({ inside: 1, outside: 2, isDue: true });
      expect((await facts('column_lineage', null)).marks).toEqual({ inside: 3, outside: 0, isDue: true });
    });

    test('they count only the marks of rows of the stream’s kind (R22)', async () => {
      await show('assets', [asset('a'), asset('b', { kind: 'bi' })], { marking: [] });
      await mark('table_assets', 'a', 'b');
      expect((await facts('table_assets', YESTERDAY)).marks).toEqual({ inside: 1, outside: 0, isDue: true });
      expect((await owed('table_assets', 'marked')).ids).toEqual(['a']);
    });
  });

  describe('the backlog', () => {
    test('the candidates of a sweep are the live, unseen rows, in order (R12)', async () => {
      await show('columns', [column('b'), column('a'), column('d'), column('c'), column('B'), column('e', gone())]);
      await bench.see('columns', ['c']);
      await bench.see('assets', ['d']);
      expect((await owed('columns', 'candidates')).ids).toEqual(['B', 'a', 'b', 'd']);
      expect((await owed('columns', 'candidates', { after: 'a' })).ids).toEqual(['b', 'd']);
    });

    test('marked rows are live, marked before the round, synced before the bound, and in order (R18)', async () => {
      await show('columns', [column('c'), column('a'), column('b', { synced_at: LAST_WEEK })], { marking: [] });
      await show('columns', [column('d', { synced_at: null }), column('x', gone())], { marking: [] });
      await mark('column_lineage', 'c', 'b', 'a', 'x', 'd');
      expect((await owed('column_lineage', 'marked')).ids).toEqual(['a', 'b', 'c', 'd']);
      expect((await owed('column_lineage', 'marked', { lastMark: 2 })).ids).toEqual(['b', 'c']);
      expect((await owed('column_lineage', 'marked', { before: YESTERDAY })).ids).toEqual(['b', 'd']);
      expect(await owed('column_lineage', 'marked', { after: 'b' })).toEqual({ ids: ['c', 'd'], weighed: null });
    });

    test('before its first lookup it is weighed against a scan of the live rows (R13, R18, R22)', async () => {
      await show('columns', [column('x'), column('y'), column('z')], { marking: [] });
      await bench.gather('column_lineage', [edge('x', 'y'), edge('x', 'z')]);
      await bench.settle('column_lineage', { replace: 'all' });
      await mark('column_lineage', 'x');
      expect((await owed('column_lineage', 'marked')).weighed).toEqual({ ids: 1, rows: 2 });
      await mark('columns', 'a');
      expect((await owed('columns', 'owned')).weighed).toEqual({ ids: 1, rows: 3 });
      expect((await owed('columns', 'candidates')).weighed).toBeNull();
    });

    test('marks beyond the last lookup wait for a later run unless their rows were returned (R18)', async () => {
      await show('columns', [column('a'), column('b'), column('c'), column('d')], { marking: [] });
      await mark('column_lineage', 'a', 'b', 'c', 'd');
      await bench.gather('column_lineage', [edge('d', 'x')]);
      await bench.settle('column_lineage', { replace: 'marked', through: 'b', marksThrough: 'b', lastMark: 4, run: 1 });
      expect((await owed('column_lineage', 'marked', { run: 2 })).ids).toEqual(['c']);
    });

    test('it counts all ids, even if it returns only as many as a request may have', async () => {
      const ids = range(1500);
      await show(
        'columns',
        ids.map((id) => column(id)),
      );
      expect(await owed('column_lineage', 'marked')).toEqual({
        ids: ids.slice(0, 1000),
        weighed: { ids: 1500, rows: 0 },
      });
    });

    test('deleted or restored parents are looked up if they or one of their children are live (R13)', async () => {
      await show('assets', [asset('a'), asset('b'), asset('c')], { marking: [] });
      await show('assets', [asset('b', gone()), asset('c', gone())], { marking: [] });
      await show('columns', [column('1', { asset_id: 'b' }), column('2', { asset_id: 'c', ...gone() })], {
        marking: [],
      });
      await mark('columns', 'a', 'b', 'c');
      expect((await owed('columns', 'owned')).ids).toEqual(['a', 'b']);
      expect((await owed('columns', 'owned', { after: 'a' })).ids).toEqual(['b']);
      expect((await owed('columns', 'owned', { lastMark: 1 })).ids).toEqual(['a']);
      expect((await owed('tests', 'owned')).ids).toEqual([]);
    });
  });

  describe('due tests (R22)', () => {
    /** The due tests of a round that this run began. */
    const dueIn = (run: number, given: Partial<DueTestsQuery> = {}) =>
      on().dueTests({ limit: 9, run, fresh: null, ...given });
    const idsOf = (tests: readonly DueTest[]) => tests.map(({ id }) => id);
    const due = async () => (await dueIn(1))[0] ?? null;
    const placeLatest = async (...items: object[]) => {
      await bench.gather('latest_test_executions', items);
      await bench.settle('latest_test_executions', { replace: 'all' });
    };
    const reading = { testId: 't', readAt: START, gaps: [], since: 1 };

    test('a test that was never read is due, unless it is deleted', async () => {
      await show('tests', [test1('u'), test1('t'), test1('s'), test1('s', gone())]);
      expect(await due()).toEqual({
        id: 't',
        readAt: null,
        knownFrom: null,
        mirroredAt: START,
        pageLimit: null,
        hasRejected: 0,
        hasFailed: 0,
      });
      expect([idsOf(await dueIn(1)), idsOf(await dueIn(1, { limit: 1 }))]).toEqual([['t', 'u'], ['t']]);
    });

    test('a test that was read is due again only if its latest execution has changed since', async () => {
      await show('tests', [test1('t')]);
      await placeLatest(execution('s', 'run-1'));
      await commit('test_executions', { historyRead: { ...reading, mirroredAt: (await due())?.mirroredAt ?? '' } });
      expect(await due()).toBeNull();
      bench.setClock(minute(1));
      await placeLatest(execution('s', 'run-1'));
      expect(await due()).toBeNull();
      await placeLatest(execution('s', 'run-2'));
      expect(await due()).toMatchObject({ id: 't', readAt: START });
    });

    test('a test is due again if an execution changed while its history was being read', async () => {
      await show('tests', [test1('t')]);
      const began = (await due())?.mirroredAt ?? '';
      bench.setClock(minute(1));
      await placeLatest(execution('s', 'run-2'));
      await commit('test_executions', { historyRead: { ...reading, mirroredAt: began } });
      expect((await due())?.id).toBe('t');
    });

    test('a test that was last read outside the given period is due (R13)', async () => {
      await show('tests', [test1('t')]);
      await commit('test_executions', { historyRead: { ...reading, mirroredAt: minute(9) } });
      const dueUnless = async (from: string, until: string) => idsOf(await dueIn(2, { fresh: { from, until } }));
      expect(await dueUnless(START, START)).toEqual([]);
      expect(await dueUnless(addSeconds(START, 1), addDays(START, 1))).toEqual(['t']);
      expect(await dueUnless(LAST_WEEK, YESTERDAY)).toEqual(['t']);
    });

    test('tests never read come first, then those unread for longest, then those that failed last time', async () => {
      await show(
        'tests',
        range(5).map((id) => test1(id)),
      );
      const [a = '', b = '', c = '', d = '', e = ''] = range(5);
      const read = (testId: string, readAt: string) =>
        commit('test_executions', { historyRead: { testId, readAt, mirroredAt: YESTERDAY, gaps: [], since: 1 } });
      await placeLatest(...[a, b].map((id) => execution(`${id}.1`, 'run-1', { test_id: id })));
      await read(a, YESTERDAY);
      await read(b, LAST_WEEK);
      await commit('test_executions', { unreadHistory: { testId: c, pageLimit: null } });
      expect(idsOf(await dueIn(2))).toEqual([d, e, b, a, c]);
      expect(idsOf((await dueIn(2)).filter(({ hasFailed }) => hasFailed === 1))).toEqual([c]);
      expect(idsOf(await dueIn(1))).toEqual([d, e, b, a]);
    });

    test('a test with rejected executions is due once per round; those not rejected again are removed (R20)', async () => {
      await show('tests', [test1('t'), test1('u')]);
      await placeLatest(execution('s', 'run-1'));
      for (const testId of ['t', 'u'])
        await commit('test_executions', { historyRead: { ...reading, testId, mirroredAt: minute(9) } });
      const broken = (id: string, test_id: string) =>
        decodePage(stream('test_executions'), [execution(id, id, { test_id, status: 7 })]).rejected;
      await commit('test_executions', { rejected: [...broken('x', 't'), ...broken('y', 'u'), ...broken('z', 'away')] });
      expect(await dueIn(1)).toEqual([]);
      expect(await dueIn(2)).toMatchObject([
        { id: 't', readAt: START, hasRejected: 1 },
        { id: 'u', hasRejected: 1 },
      ]);
      await commit('test_executions', { rejected: broken('w', 't') }, { run: 2 });
      await commit('test_executions', { historyRead: { ...reading, mirroredAt: minute(9), since: 2 } }, { run: 2 });
      const standing = (await rows('rejected_rows', ['payload'])).map((row) => JSON.parse(String(row['payload'])).id);
      expect(standing.sort()).toEqual(['w', 'y']);
    });

    test('a test keeps the page limit of a failed read, even after a successful one (R24)', async () => {
      await show('tests', [test1('t')]);
      const limits = async (run: number) => (await dueIn(run)).map(({ pageLimit }) => pageLimit);
      await commit('test_executions', { unreadHistory: { testId: 't', pageLimit: 500 } });
      await commit('test_executions', { unreadHistory: { testId: 't', pageLimit: null } }, { run: 2 });
      expect([await limits(2), await limits(3)]).toEqual([[], [500]]);
      await commit('test_executions', { historyRead: { ...reading, mirroredAt: START } });
      bench.setClock(minute(1));
      await placeLatest(execution('s', 'run-2'));
      expect(await limits(2)).toEqual([500]);
    });

    test('a due test has the start of its earliest known execution, and the gaps of its reads are kept', async () => {
      await show('tests', [test1('t')]);
      const items = [execution('s', 'run-1', { start_time: LAST_WEEK }), execution('s', 'run-2')];
      await commit('test_executions', { archived: bench.decoded('test_executions', items) });
      expect((await due())?.knownFrom).toBe(LAST_WEEK);
      await commit('test_executions', {
        historyRead: { ...reading, mirroredAt: START, gaps: [{ from: LAST_WEEK, to: YESTERDAY }] },
      });
      expect(await rows('test_execution_gaps', ['test_id', 'gap_from', 'gap_to'])).toEqual([
        { test_id: 't', gap_from: LAST_WEEK, gap_to: YESTERDAY },
      ]);
    });
  });

  describe('what a read saw and staged (R7)', () => {
    const candidates = async () => (await owed('columns', 'candidates')).ids;

    test('it is discarded by the number of the read, or as a whole', async () => {
      await show('columns', [column('a'), column('b'), column('c')]);
      await bench.see('columns', ['a', 'b'], 1);
      await bench.see('columns', ['b', 'c', 'c'], 2);
      await commit('columns', { kind: 'discard', forget: 2 });
      expect(await candidates()).toEqual(['c']);
      await commit('columns', { kind: 'discard', forget: 'all' });
      expect(await candidates()).toEqual(['a', 'b', 'c']);
    });

    test('discarding it leaves other streams alone', async () => {
      await show('columns', [column('a')]);
      await bench.see('columns', ['a']);
      await commit('assets', { kind: 'discard', forget: 'all' });
      expect(await candidates()).toEqual([]);
    });

    test('discarded rows are not applied at the end of the round', async () => {
      await bench.gather('asset_lineage', [link('a', 'b')], 1);
      await bench.gather('asset_lineage', [link('b', 'c')], 2);
      await commit('asset_lineage', { kind: 'discard', forget: 2 });
      await bench.settle('asset_lineage', { replace: 'all' });
      expect(await rows('asset_lineage', ['upstream_asset_id'])).toEqual([{ upstream_asset_id: 'a' }]);
    });

    test('it is discarded when the round ends', async () => {
      await show('columns', [column('a'), column('b')]);
      await bench.see('columns', ['a']);
      await bench.settle('columns', SWEEP);
      expect(await candidates()).toEqual(['a']);
      await bench.gather('column_lineage', [edge('a', 'b')]);
      await bench.settle('column_lineage', { replace: 'all' });
      await bench.settle('column_lineage', { replace: 'all' });
      expect(await rows('column_lineage')).toEqual([]);
    });
  });

  describe('the children of a deleted or restored parent (R13)', () => {
    test('they become absent unless a read from the given one on saw them', async () => {
      const owned = ['a', 'b', 'c'].map((id) => column(id, { asset_id: 'x' }));
      await show('columns', [...owned, column('d', { asset_id: 'y' }), column('e', { asset_id: 'z' })]);
      await bench.see('columns', ['a'], 1);
      await bench.see('columns', ['b'], 2);
      await bench.see('columns', ['c'], 3);
      const sweptRows = { by: 'asset_id', ids: ['x', 'y'], sinceRead: 2, at: START, isConfirmed: true };
      expect(await commit('columns', { sweptRows })).toEqual({ written: 0, deleted: 2, rejected: 0 });
      const absent = { deleted_at: START, deletion: 'absent' };
      const lives = { deleted_at: null, deletion: null };
      expect(await rows('columns', ['id', 'deleted_at', 'deletion'])).toEqual([
        { id: 'a', ...absent },
        { id: 'b', ...lives },
        { id: 'c', ...lives },
        { id: 'd', ...absent },
        { id: 'e', ...lives },
      ]);
    });

    test('tests that the first of the two reads saw stay live', async () => {
      await show('tests', [test1('t'), test1('u')]);
      await bench.see('tests', ['t'], 6);
      await commit('tests', { sweptRows: { by: 'asset_id', ids: ['a'], sinceRead: 6, at: START, isConfirmed: true } });
      expect((await rows('tests', ['id', 'deletion'])).map((row) => row['deletion'])).toEqual([null, 'absent']);
    });
  });

  test('a failed write is a SyncError with recovery run', async () => {
    const mend = await bench.breakTable('columns');
    await expect(show('columns', [column('c')])).rejects.toThrow(expect.objectContaining({ recovery: 'run' }));
    await mend();
  });
}
