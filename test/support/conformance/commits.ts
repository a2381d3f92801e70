import { describe, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import { decodePage } from '../../../src/core/decode/decode.ts';
import { LAST_INSTANT } from '../../../src/core/time/instant.ts';
import {
  asset,
  column,
  edge,
  execution,
  gone,
  LAST_WEEK,
  link,
  minute,
  START,
  score,
  UNDER_WAY,
  type Workbench,
  YESTERDAY,
} from './workbench.ts';

/** The effects of a single commit, in any round. */
export function describeCommits(bench: Workbench): void {
  const { commit, rows, show, on, stream } = bench;
  const markRows = () => rows('marks', ['stream', 'id', 'number']);
  const rejected = (...items: object[]) => decodePage(stream('columns'), items).rejected;

  describe('a failed commit (R5)', () => {
    const everything = async () => ({
      checkpoint: UNDER_WAY,
      changes: await bench.changes('columns', [column('c', { name: 'new', synced_at: START }), column('d')]),
      marks: [{ stream: 'column_lineage', id: 'd' }] as const,
      seen: { keys: [['c']], readNumber: 1 },
      rejected: rejected({ id: 'bad' }),
      shown: [['worse']],
    });
    const TABLES = ['columns', 'marks', 'seen_pages', 'rejected_rows', 'sync_checkpoints'];
    const state = () =>
      Promise.all([
        ...TABLES.map((table) => rows(table)),
        on().facts(stream('columns'), { since: null, settledBefore: LAST_INSTANT }),
        bench.checkpoint('columns'),
      ]);

    test.each(['marks', 'rejected_rows', 'sync_checkpoints'])('nothing is written when %s cannot be', async (table) => {
      await show('columns', [column('c')]);
      await commit('columns', { rejected: rejected({ id: 'worse' }) });
      const before = await state();
      const mend = await bench.breakTable(table);
      await expect(commit('columns', await everything())).rejects.toThrow(
        expect.objectContaining({ name: 'SyncError' }),
      );
      expect(await state()).toEqual(before);
      await mend();
      expect(await commit('columns', await everything())).toEqual({ written: 2, deleted: 0, rejected: 1 });
      expect(await bench.checkpoint('columns')).toEqual(UNDER_WAY);
    });
  });

  describe('the checkpoint', () => {
    test('it shows no progress before the first page', async () => {
      expect(await bench.checkpoint('columns')).toEqual(NO_PROGRESS);
    });

    test('it is loaded as it was committed, one per stream and environment (R6)', async () => {
      await commit('columns', { checkpoint: UNDER_WAY });
      expect(await bench.checkpoint('columns')).toEqual(UNDER_WAY);
      expect(await bench.checkpoint('assets')).toEqual(NO_PROGRESS);
      expect(await bench.checkpoint('columns', 'f')).toEqual(NO_PROGRESS);
    });

    test('the end of a first scan is a fact for the streams that follow, in its environment alone (R18)', async () => {
      const isScanned = async (env = 'e') =>
        (await on(env).facts(stream('column_lineage'), { since: null, settledBefore: LAST_INSTANT })).isParentScanned;
      expect(await isScanned()).toBe(false);
      await commit('columns', { checkpoint: { ...UNDER_WAY, scanEndedCycle: null } });
      await commit('assets', { checkpoint: UNDER_WAY });
      expect(await isScanned()).toBe(false);
      await commit('columns', { checkpoint: UNDER_WAY });
      expect([await isScanned(), await isScanned('f')]).toEqual([true, false]);
    });
  });

  describe('rows', () => {
    test('exactly the requested rows are found, as they were written, deleted ones included', async () => {
      await show('columns', [column('c', { extra_field: 1 }), column('d'), column('ü/ "e"')]);
      await show('columns', [column('d', gone())]);
      const held = await on().existing(stream('columns'), [['c'], ['d'], ['x']]);
      expect([...held.keys()].sort()).toEqual(['c', 'd']);
      const fields = { asset_id: 'a', data_type: null, synced_at: YESTERDAY };
      expect(held.get('c')).toEqual({
        ...{ id: 'c', name: 'c', ...fields, deleted_at: null, deletion: null, extra: '{"extra_field":1}' },
      });
      expect(held.get('d')).toMatchObject({ deleted_at: START, deletion: 'tombstone', extra: null });
      expect((await on().existing(stream('columns'), [['ü/ "e"']])).size).toBe(1);
    });

    test('rows with a key of two parts are found by both', async () => {
      await bench.gather('asset_lineage', [link('a', 'b'), link('a', 'c'), link('b', 'c')]);
      await bench.settle('asset_lineage', { replace: 'all' });
      const held = await on().existing(stream('asset_lineage'), [
        ['a', 'c'],
        ['b', 'c'],
        ['b', 'b'],
      ]);
      expect([...held.keys()].sort()).toEqual(['["a","c"]', '["b","c"]']);
      expect(held.get('["a","c"]')).toEqual({ upstream_asset_id: 'a', downstream_asset_id: 'c', extra: null });
    });

    test('a commit counts its rows by kind of change', async () => {
      await show('columns', [column('c'), column('d')]);
      expect(await show('columns', [column('c', gone()), column('e')])).toEqual({
        written: 1,
        deleted: 1,
        rejected: 0,
      });
    });

    test('a commit may write more rows than fit into one statement', async () => {
      const ids = Array.from({ length: 2001 }, (_, i) => `c${i}`);
      expect(
        (
          await show(
            'columns',
            ids.map((id) => column(id)),
          )
        ).written,
      ).toBe(2001);
      expect(await rows('columns')).toHaveLength(2001);
    });

    test('the edges of a deleted column are deleted with it, at both ends (R18)', async () => {
      await show('columns', [column('c'), column('d')]);
      await bench.gather('column_lineage', [edge('c', 'd'), edge('d', 'c'), edge('d', 'e')]);
      await bench.settle('column_lineage', { replace: 'all' });
      await show('columns', [column('c', gone())]);
      expect(await rows('column_lineage', ['downstream_column_id', 'upstream_column_id'])).toEqual([
        { downstream_column_id: 'd', upstream_column_id: 'e' },
      ]);
    });
  });

  describe('the mirror’s own time (R21)', () => {
    const times = async () => (await rows('columns', ['id', 'mirrored_at'])).map((row) => String(row['mirrored_at']));

    test('mirrored_at is the time of the row’s last change', async () => {
      await show('columns', [column('c'), column('d')]);
      bench.setClock(minute(1));
      await show('columns', [column('c', { name: 'new' }), column('d')]);
      expect(await times()).toEqual([minute(1), START]);
    });

    test('every commit has a later time, even if the machine’s clock stands still or runs backwards', async () => {
      for (const [i, clock] of [START, START, LAST_WEEK, LAST_WEEK].entries()) {
        bench.setClock(clock);
        await show('columns', [column(`c${i}`)]);
      }
      const grown = await times();
      expect(new Set(grown).size).toBe(4);
      expect([...grown].sort()).toEqual(grown);
      expect(grown[0]).toBe(START);
    });
  });

  describe('marks (R18)', () => {
    const mark = (...ids: string[]) =>
      commit('columns', { marks: ids.map((id) => ({ stream: 'column_lineage', id })) });

    test('marks are numbered as they are made, and marking a row again gives it a new number', async () => {
      await mark('b', 'a');
      await mark('b');
      expect((await markRows()).map((row) => [row['id'], row['number']])).toEqual([
        ['a', 2],
        ['b', 3],
      ]);
      expect((await on().facts(stream('column_lineage'), { since: null, settledBefore: LAST_INSTANT })).lastMark).toBe(
        3,
      );
    });

    test('marks are cleared up to a given number, or whatever their number', async () => {
      await mark('a', 'b', 'c');
      await commit('column_lineage', { clearedMarks: { ids: ['a', 'c'], lastMark: 2 } });
      expect((await markRows()).map((row) => row['id'])).toEqual(['b', 'c']);
      await commit('column_lineage', { clearedMarks: { ids: ['c'], lastMark: null } });
      expect((await markRows()).map((row) => row['id'])).toEqual(['b']);
      await commit('table_assets', { clearedMarks: { ids: ['b'], lastMark: null } });
      expect(await markRows()).toHaveLength(1);
    });
  });

  describe('rejected rows (R20)', () => {
    const list = () => rows('rejected_rows', ['row_key', 'reason', 'seen_at']);

    test('a row is kept once, and being rejected again updates its time and payload', async () => {
      expect((await commit('columns', { rejected: rejected({ id: 'c' }, { name: 'n' }) })).rejected).toBe(2);
      bench.setClock(minute(1));
      await commit('columns', { rejected: rejected({ id: 'c', asset_id: 'a' }, { name: 'n' }) });
      expect(await list()).toEqual([
        { row_key: 'c', reason: 'name is missing', seen_at: minute(1) },
        { row_key: '{"name":"n"}', reason: 'no usable id', seen_at: minute(1) },
      ]);
      expect((await rows('rejected_rows', ['payload', 'run_id', 'stream']))[0]).toEqual({
        ...{ payload: '{"id":"c","asset_id":"a"}', run_id: 1, stream: 'columns' },
      });
    });

    test('an accepted row is removed, but only for its own stream', async () => {
      await commit('columns', { rejected: rejected({ id: 'c' }, { id: 'd' }) });
      await commit('tests', { rejected: decodePage(stream('tests'), [{ id: 'c' }]).rejected });
      await show('columns', [column('c')]);
      expect(await rows('rejected_rows', ['stream', 'row_key'])).toEqual([
        { stream: 'columns', row_key: 'd' },
        { stream: 'tests', row_key: 'c' },
      ]);
    });

    test('a page of tombstones keeps the rejections of its rows', async () => {
      await commit('columns', { rejected: rejected({ id: 'c' }) });
      await commit('columns', { returnedKeys: [['c']], keepsRejected: true });
      expect(await rows('rejected_rows', ['row_key'])).toEqual([{ row_key: 'c' }]);
      await commit('columns', { returnedKeys: [['c']] });
      expect(await rows('rejected_rows', ['row_key'])).toEqual([]);
    });

    describe('at the end of a round', () => {
      const reject = (run: number, ...items: object[]) => commit('columns', { rejected: rejected(...items) }, { run });
      const keys = async () => (await rows('rejected_rows', ['stream', 'row_key'])).map((row) => row['row_key']);

      test('a full read removes rows that were last rejected before the run that began it', async () => {
        await reject(1, { id: 'gone' }, { id: 'back' }, { name: 'no key' });
        await commit('tests', { rejected: decodePage(stream('tests'), [{ id: 'other' }]).rejected });
        await reject(2, { id: 'now' }, { id: 'back' });
        await reject(3, { id: 'later' });
        await bench.settle('columns', { isWhole: true, run: 2 }, { run: 3 });
        expect(await keys()).toEqual(['back', 'later', 'now', 'other']);
      });

      test('a round that read only changes removes no rejected row', async () => {
        await reject(1, { id: 'a' });
        await bench.settle('columns', { isWhole: false, run: 2 }, { run: 2 });
        expect(await keys()).toEqual(['a']);
      });
    });

    test('rows are looked up by their keys, except those rejected since the round began', async () => {
      await commit('columns', { rejected: rejected({ id: 'b' }, { id: 'a' }, { name: 'no key' }) }, { run: 1 });
      await commit('tests', { rejected: decodePage(stream('tests'), [{ id: 'other' }]).rejected }, { run: 1 });
      await commit('columns', { rejected: rejected({ id: 'c' }) }, { run: 2 });
      const owed = async (run: number, after = ''): Promise<readonly string[]> =>
        (
          await on().backlog(stream('columns'), {
            about: 'rejected',
            after,
            lastMark: 0,
            before: null,
            run,
            mode: 'feed',
            settledBefore: LAST_INSTANT,
          })
        ).ids;
      expect([await owed(1), await owed(2), await owed(3), await owed(3, 'a')]).toEqual([
        [],
        ['a', 'b'],
        ['a', 'b', 'c'],
        ['b', 'c'],
      ]);
      expect((await on().facts(stream('columns'), { since: null, settledBefore: LAST_INSTANT })).hasRejected).toBe(
        true,
      );
      expect((await on().facts(stream('assets'), { since: null, settledBefore: LAST_INSTANT })).hasRejected).toBe(
        false,
      );
      expect((await on().outstanding(stream('columns'))).rejected).toBe(4);
      expect((await on().outstanding(stream('assets'))).rejected).toBe(0);
    });

    test('rows looked up in vain are removed, except live ones and those rejected since', async () => {
      await show('columns', [column('held'), column('dead', gone())]);
      await commit(
        'columns',
        { rejected: rejected({ id: 'held' }, { id: 'dead' }, { id: 'new' }, { id: 'x' }) },
        { run: 1 },
      );
      await commit('columns', { rejected: rejected({ id: 'met' }) }, { run: 2 });
      await commit('columns', { notShown: { ids: ['held', 'dead', 'new', 'met'], since: 2 } }, { run: 2 });
      expect((await rows('rejected_rows', ['row_key'])).map((row) => row['row_key'])).toEqual(['held', 'met', 'x']);
    });

    test('a row with a key of two parts is removed by both', async () => {
      const bad = { ...edge('c', 'd'), extra: 1 };
      const [row] = bench.decoded('column_lineage', [bad]);
      const key = JSON.stringify(row?.key);
      await commit('column_lineage', { rejected: [{ key: ['c', 'd'], rowKey: key, reason: 'r', payload: 'p' }] });
      await commit('column_lineage', { returnedKeys: [['c', 'x']] });
      expect(await rows('rejected_rows')).toHaveLength(1);
      await commit('column_lineage', { returnedKeys: [['c', 'd']] });
      expect(await rows('rejected_rows')).toHaveLength(0);
    });
  });

  describe('archives (R17)', () => {
    const runs = () => rows('test_executions', ['sub_test_unique_id', 'id', 'status', 'mirrored_at']);
    const archive = (name: 'latest_test_executions' | 'test_executions', ...items: object[]) =>
      commit(name, { archived: bench.decoded(name, items) });

    test.each(['latest_test_executions', 'test_executions'] as const)(
      '%s keeps every execution, in its newest version',
      async (name) => {
        await archive(name, execution('s', 'run-1'), execution('s', 'run-2', { synced_at: null }));
        bench.setClock(minute(1));
        await archive(name, execution('s', 'run-1', { status: 'FAIL', synced_at: LAST_WEEK }), execution('s', 'run-2'));
        await archive(name, execution('s', 'run-1', { status: 'WARN', synced_at: null }));
        expect((await runs()).map((row) => [row['id'], row['status'], row['mirrored_at']])).toEqual([
          ['run-1', 'PASS', START],
          ['run-2', 'PASS', minute(1)],
        ]);
        await archive(name, execution('s', 'run-1', { status: 'FAIL' }));
        expect((await runs())[0]).toMatchObject({ id: 'run-1', status: 'FAIL' });
      },
    );

    test('an unchanged execution is not written again (R21)', async () => {
      await archive('test_executions', execution('s', 'run-1'));
      bench.setClock(minute(1));
      expect((await archive('test_executions', execution('s', 'run-1'))).written).toBe(0);
      expect(await runs()).toMatchObject([{ mirrored_at: START }]);
    });

    test('the total and each dimension of every health score bucket are kept', async () => {
      await commit('asset_health_scores', {
        archived: bench.decoded('asset_health_scores', [score('a', 0.5, { freshness: 1 })]),
      });
      expect(await rows('asset_health_score_history', ['asset_id', 'dimension', 'score', 'bucket_at'])).toEqual([
        { asset_id: 'a', dimension: 'freshness', score: 1, bucket_at: '2026-11-20T04:00:00.000000Z' },
        { asset_id: 'a', dimension: 'total', score: 0.5, bucket_at: '2026-11-20T04:00:00.000000Z' },
      ]);
    });
  });

  test('typed fields are written to the rows of the parent stream (R22)', async () => {
    await show('assets', [asset('a'), asset('b', { kind: 'bi' })]);
    const [row] = [...(await on().existing(stream('table_assets'), [['a']])).values()];
    await commit('table_assets', { changes: [{ row: { ...row, db_name: 'prod' }, kind: 'updated' }] });
    expect(await rows('assets', ['id', 'name', 'db_name'])).toEqual([
      { id: 'a', name: 'a', db_name: 'prod' },
      { id: 'b', name: 'b', db_name: null },
    ]);
  });
}
