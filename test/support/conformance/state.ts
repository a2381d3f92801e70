import { describe, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import type { JoinedRun, RunStatus, StreamRun } from '../../../src/core/ports/state-store.ts';
import type { UnfinishedWork } from '../../../src/core/schedule/cycle.ts';
import { reconcile } from '../../../src/core/schedule/environments.ts';
import type { StreamName } from '../../../src/core/stream.ts';
import { addDays } from '../../../src/core/time/instant.ts';
import { BASE_URL, column, LAST_WEEK, SWEEP, START as T, UNDER_WAY, type Workbench } from './workbench.ts';

const NAMES = ['assets', 'columns', 'tests'] as const;

const STREAM_RUN: Omit<StreamRun, 'run_id' | 'env_id'> = {
  ...{ stream: 'assets', mode: 'scan', reason: 'first', status: 'done', requests: 1, pages: 1, error: null },
  ...{ rows_written: 0, rows_deleted: 0, rows_rejected: 0, rows_late: 0, started_at: T, ended_at: T },
};

const ENDED = {
  ...{ server_time: T, ended_at: T, requests: 1, error: null },
  ...{ rows_written: 0, rows_deleted: 0, rows_rejected: 0 },
} as const;

interface RunStart {
  readonly environments?: readonly string[];
  readonly now?: string;
  readonly full?: boolean;
  readonly streams?: readonly Partial<StreamRun>[];
}

/** What a mirror stores besides its rows. */
export function describeState(bench: Workbench): void {
  const { rows, state, commit } = bench;

  test('a mirror belongs to the base URL that first wrote it, and any other is refused (R26)', async () => {
    await state().claimMirror(BASE_URL);
    await expect(state().claimMirror('https://b.example')).rejects.toThrow(
      expect.objectContaining({ recovery: 'usage', message: expect.stringContaining(BASE_URL) }),
    );
    await state().claimMirror(BASE_URL);
  });

  describeCycles(bench);
  describeRunLog(bench);

  describe('environments', () => {
    const save = async (items: readonly unknown[], id = 1, readIds?: readonly string[]) =>
      state().saveEnvironments(reconcile(items, await state().environments(), T), id, readIds);
    const env = (id: string) => ({ id, name: `Env ${id}` });
    const missing = async () =>
      (await state().environments()).map((row) => [row['id'], row['missing_since']]).sort(byText);
    const due = async (id: string, stream: StreamName = 'assets') => (await bench.checkpoint(stream, id)).scanDue;

    test('unlisted ones are kept, and once listed again their scanned streams are due for a scan (R13)', async () => {
      for (const id of ['a', 'b'])
        await commit('assets', { checkpoint: { ...NO_PROGRESS, scanEndedCycle: 1 } }, { env: id });
      await commit('asset_health_scores', { checkpoint: { ...NO_PROGRESS, finishedCycle: 1 } }, { env: 'a' });
      await save([env('a'), env('b')]);
      await save([env('b')]);
      expect(await missing()).toEqual([
        ['a', T],
        ['b', null],
      ]);
      await save([env('a'), env('b')]);
      expect(await missing()).toEqual([
        ['a', null],
        ['b', null],
      ]);
      const all = [await due('a'), await due('a', 'asset_health_scores'), await due('a', 'tests'), await due('b')];
      expect(all).toEqual(['returned', null, null, null]);
    });

    test('those that a run does not read are saved as well', async () => {
      await save([env('a'), env('b')], 1, ['a']);
      expect(await missing()).toEqual([
        ['a', null],
        ['b', null],
      ]);
      await save([env('a')], 2, ['a']);
      expect(await missing()).toEqual([
        ['a', null],
        ['b', T],
      ]);
    });

    const SCANNED = { ...NO_PROGRESS, scanEndedCycle: 1 };

    test('one listed again is due for a scan even if an older checkpoint is committed afterwards (R13)', async () => {
      await commit('assets', { checkpoint: SCANNED }, { env: 'a' });
      await save([env('a')]);
      const loaded = await bench.checkpoint('assets', 'a');
      await save([]);
      await save([env('a')]);
      await commit('assets', { checkpoint: { ...loaded, finishedCycle: 2 } }, { env: 'a' });
      expect(await bench.checkpoint('assets', 'a')).toMatchObject({ scanDue: 'returned', finishedCycle: 2 });
    });

    test('one listed again is scanned once, even if two runs notice it at the same time (R13)', async () => {
      await commit('assets', { checkpoint: SCANNED }, { env: 'a' });
      await save([env('a')]);
      await save([]);
      const found = reconcile([env('a')], await state().environments(), T);
      await state().saveEnvironments(found, 2);
      const begun = { ...(await bench.checkpoint('assets', 'a')), scanDue: null };
      await commit('assets', { checkpoint: begun }, { env: 'a' });
      await state().saveEnvironments(found, 3);
      expect(await due('a')).toBeNull();
    });

    test('unreadable ones are rejected once each, until they can be read (R20)', async () => {
      await save([{ id: 'a' }]);
      await save([{ id: 'a' }, 7], 2);
      expect(await rows('rejected_rows', ['row_key', 'reason', 'run_id'], '')).toEqual([
        { row_key: '7', reason: 'not an object', run_id: 2 },
        { row_key: 'a', reason: 'name is missing', run_id: 2 },
      ]);
      await save([env('a')]);
      expect(await rows('rejected_rows', [], '')).toEqual([]);
    });
  });

  describe('the quota', () => {
    test('it is what the last run learned of it and left of it (R23)', async () => {
      expect([await state().quota(), await state().keptQuota()]).toEqual([null, null]);
      const told = { limit: 100, windowSeconds: 60, remaining: 7, resetSeconds: 30 };
      await state().saveQuota(told, T);
      expect(await state().quota()).toEqual({ limit: 100, windowSeconds: 60 });
      expect(await state().keptQuota()).toEqual({ remaining: 7, resetSeconds: 30, notedAt: T });
      await state().saveQuota({ ...told, limit: null, remaining: 0 }, LAST_WEEK);
      expect(await state().quota()).toBeNull();
      expect(await state().keptQuota()).toEqual({ remaining: 0, resetSeconds: 30, notedAt: LAST_WEEK });
    });
  });

  test('the length of a list is kept per query, as it was last measured', async () => {
    const list = { env_id: 'e', stream: 'tests', variant: '{}', page_size: 2, pages: 3, rows: 5 } as const;
    const disabled = { ...list, variant: '{"disabled":"true"}' };
    await state().saveListLengths([list, disabled]);
    await state().saveListLengths([{ ...list, pages: 4, rows: 7 }]);
    expect(await rows('list_lengths')).toEqual([disabled, { ...list, pages: 4, rows: 7 }]);
  });

  test('a stream whose round an earlier cycle began is unfinished (R6)', async () => {
    const round = UNDER_WAY.round as NonNullable<typeof UNDER_WAY.round>;
    for (const [name, env, cycle] of [
      ['assets', 'e', 4],
      ['tests', 'e', 4],
      ['columns', 'e', 5],
      ['tests', 'f', 3],
    ] as const)
      await commit(name, { checkpoint: { ...UNDER_WAY, round: { ...round, cycle } } }, { env });
    await commit('asset_lineage', { checkpoint: { ...UNDER_WAY, round: null } });
    expect(await state().unfinishedStreams('e', 5)).toEqual(['assets', 'tests']);
    expect(await state().unfinishedStreams('f', 5)).toEqual(['tests']);
  });

  test('the streams with held-back removals are found for each environment (R14)', async () => {
    expect(await state().streamsHoldingBack('e')).toEqual([]);
    await bench.show('columns', [column('a'), column('b')], { env: 'e' });
    await bench.settle('columns', { ...SWEEP, hold: true }, { env: 'e' });
    expect(await state().streamsHoldingBack('e')).toEqual(['columns']);
    expect(await state().streamsHoldingBack('f')).toEqual([]);
  });
}

function byText(a: object, b: object): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

/** Records one run of these streams. Without a status it never ends. */
async function runOf(
  { state }: Pick<Workbench, 'state'>,
  status: RunStatus | null,
  left_over: UnfinishedWork | null = null,
  { environments = ['a'], now = T, full = false, streams = [{}] }: RunStart = {},
): Promise<JoinedRun> {
  const id = await state().beginRun(T, 'sync');
  const joined = await state().joinCycle({
    id,
    envIds: environments,
    streams: NAMES,
    selected: NAMES,
    now,
    full,
    fullEvery: 'auto',
  });
  for (const env_id of environments)
    for (const stream of streams) await state().recordStreamRun({ ...STREAM_RUN, ...stream, run_id: id, env_id });
  if (status !== null) await state().endRun(joined, { ...ENDED, status, left_over, server_time: now });
  return joined;
}

function describeCycles(bench: Workbench): void {
  const run = async (...given: [RunStatus | null, (UnfinishedWork | null)?, RunStart?]): Promise<JoinedRun> =>
    runOf(bench, ...given);
  const passOf = async (...given: Parameters<typeof run>): Promise<number> => (await run(...given)).cycle;

  describe('a cycle (R6)', () => {
    test('it continues only after a run that used up its requests or quota', async () => {
      const passes: number[] = [];
      for (const [status, leftOver] of [
        ['done', null],
        ['stopped', 'unread'],
        ['problems', 'unread'],
        ['problems', null],
        ['interrupted', null],
        ['refused', null],
        [null, null],
        ['done', null],
      ] as const)
        passes.push(await passOf(status, leftOver));
      expect(passes).toEqual([1, 2, 2, 2, 5, 6, 7, 8]);
      expect((await bench.runs()).map((row) => row['cycle_id'])).toEqual(passes);
    });

    test('the cycle of one environment survives runs of others', async () => {
      await run('stopped', 'unread', { environments: ['a'] });
      expect(await passOf('done', null, { environments: ['b'] })).toBe(2);
      expect(await passOf('done', null, { environments: ['a'] })).toBe(1);
      expect(await passOf('done', null, { environments: ['a', 'b'] })).toBe(4);
    });

    test('it ends with a run that left nothing unread, even one that logged no stream', async () => {
      await run('stopped', 'unread');
      expect(await passOf('done', null, { streams: [] })).toBe(1);
      expect(await passOf('done')).toBe(3);
    });

    test('with --full it is continued by --full, until a run without it has continued it', async () => {
      await run('stopped', 'unread', { full: true });
      expect(await passOf('stopped', 'unread', { full: true })).toBe(1);
      expect(await passOf('stopped', 'unread')).toBe(1);
      expect(await run('stopped', 'unread', { full: true })).toMatchObject({ cycle: 4, afterRun: expect.any(Number) });
    });

    test('it lasts at most a day from its first run', async () => {
      await run('stopped', 'unread', { now: '2026-11-20T04:00:00.000000Z' });
      expect(await passOf('stopped', 'unread', { now: '2026-11-20T23:00:00.000000Z' })).toBe(1);
      expect(await run('stopped', 'unread', { now: '2026-11-21T04:00:01.000000Z' })).toMatchObject({
        cycle: 3,
        afterRun: expect.any(Number),
      });
    });

    test('the last attempt of a stream is known if it did not succeed', async () => {
      const triesBefore = async (id: number) =>
        (await bench.state().lastTries({ id, envIds: ['a', 'b'], streams: NAMES })).get('a');
      await run('stopped', 'unread', { streams: [{ status: 'failed' }, { stream: 'tests', status: 'stopped' }] });
      await run('stopped', 'unread', {
        streams: [{ stream: 'tests' }, { stream: 'columns', status: 'stopped', pages: 0 }],
      });
      expect(await triesBefore(3)).toEqual([
        { stream: 'assets', run: 1, status: 'failed', requests: 1, pages: 1 },
        { stream: 'columns', run: 2, status: 'stopped', requests: 1, pages: 0 },
      ]);
      await run('done', null, { streams: [{}, { stream: 'columns' }] });
      expect(await triesBefore(4)).toBeUndefined();
      expect(await triesBefore(2)).toHaveLength(2);
    });
  });
}

function describeRunLog(bench: Workbench): void {
  const logged = async () => (await bench.rows('sync_stream_runs', ['run_id', 'requests'], 'a')).map(Object.values);

  describe('the run log', () => {
    test('a stream that did nothing and ended as before is not logged', async () => {
      const idle = { requests: 0, pages: 0 };
      const held = { status: 'held', ...idle, error: 'removals are held back' } as const;
      for (const stream of [idle, idle, held, held, idle, { ...idle, rows_deleted: 1 }])
        await runOf(bench, 'done', null, { streams: [stream] });
      expect((await logged()).map(([id]) => id)).toEqual([1, 3, 4, 5, 6]);
    });

    test('a stream that a run read twice has one row, the later one', async () => {
      await runOf(bench, 'done', null, { streams: [{}, { requests: 3 }] });
      expect(await logged()).toEqual([[1, 3]]);
    });

    test('a forgotten run leaves no trace', async () => {
      const id = await bench.state().beginRun(T, 'verify');
      await bench.state().forgetRun(id);
      await runOf(bench, 'done');
      expect(await bench.runs()).toHaveLength(1);
    });

    test('runs older than 90 days are pruned, except each stream’s last one and the last success', async () => {
      const OLD = '2026-08-20T00:00:00.000000Z';
      await runOf(bench, 'done', null, { now: OLD });
      await runOf(bench, 'problems', null, { now: OLD });
      await runOf(bench, 'problems', null, { now: OLD, streams: [{ stream: 'tests' }] });
      await runOf(bench, 'problems');
      await bench.state().pruneLog(addDays(T, -90));
      expect((await bench.runs()).map((row) => row['id']).sort()).toEqual([1, 4]);
      expect((await logged()).map(([id]) => id)).toEqual([1, 3, 4]);
    });
  });
}
