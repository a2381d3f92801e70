import { describe, expect, test } from 'vitest';
import { environments } from '../../schema/assets.ts';
import { prunedHistory } from '../../schema/histories.ts';
import { verifications } from '../../schema/page.ts';
import { mirror, rejectedRows, syncCheckpoints, syncRuns, syncStreamRuns } from '../../schema/sync.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { mirrorTrust, type TrustReader } from '../../src/page-data/mirror-trust.ts';
import { recordAnswers } from '../../src/page-data/record-answers.ts';
import { insert, NOW } from '../server/fixture.ts';
import { mirrorOf } from './setup.ts';
import { fillWorld } from './world.ts';

const at = (time: string): string => `2026-11-20T${time}:00.000000Z`;

type StreamStatus = (typeof syncStreamRuns.$inferInsert)['status'];

interface StreamEnd {
  readonly run_id?: number;
  readonly env_id?: string;
  readonly stream: string;
  readonly status?: StreamStatus;
  readonly from: string;
  readonly to: string;
}

const streamRun = ({ run_id = 1, env_id = 'e', stream, status = 'done', from, to }: StreamEnd) => ({
  ...{ run_id, env_id, stream, status, mode: 'feed', reason: 'usual', started_at: at(from), ended_at: at(to) },
  ...{ requests: 3, pages: 2, rows_written: 7, rows_deleted: 0, rows_rejected: 0, rows_late: 0 },
  error: status === 'failed' ? '500 from /e/tests/abc' : null,
});

const syncRun = (id: number, more: Partial<typeof syncRuns.$inferInsert> = {}) => ({
  ...{ id, cycle_id: id, status: 'problems' as const, started_at: at('09:59'), ended_at: at('10:40') },
  ...{ requests: 40, error: 'tests: 500 from /e/tests/abc', ...more },
});

/** A sync that read `e`, where a stream failed, and then `f`. */
function fillLog({ db }: MirrorFile): void {
  insert(db, environments, { id: 'f', name: 'Another', mirrored_at: NOW });
  insert(db, syncRuns, syncRun(1));
  insert(db, syncStreamRuns, [
    streamRun({ stream: 'assets', from: '10:00', to: '10:01' }),
    streamRun({ stream: 'columns', from: '10:01', to: '10:05' }),
    streamRun({ stream: 'tests', status: 'failed', from: '10:05', to: '10:20' }),
    streamRun({ env_id: 'f', stream: 'assets', from: '10:20', to: '10:30' }),
  ]);
  for (const stream of ['assets', 'columns', 'tests'])
    insert(db, syncCheckpoints, { env_id: 'e', stream, watermark: at('10:00'), unavailable: 0 });
  const quota = { quota_limit: 5000, quota_window_seconds: 3600, quota_remaining: 4321, quota_noted_at: at('10:30') };
  db.update(mirror).set(quota).run();
  insert(db, verifications, { ended_at: at('11:00'), depth: 'rows', equal: 0, difference_count: 3 });
}

const EVERYTHING: TrustReader = { environments: null, deniedScopes: [], seesSomeAssets: false };

/** What a reader sees after that sync and optional further changes. */
function trustFor(limits: Partial<TrustReader> = {}, more: (writing: MirrorFile) => void = () => undefined) {
  const { seen } = mirrorOf((writing) => {
    fillLog(writing);
    more(writing);
  });
  return seen(({ reads }) => mirrorTrust(reads, { ...EVERYTHING, ...limits }));
}

const E = { environments: new Set(['e']) };
const F = { environments: new Set(['f']) };
const NO_TESTS = { deniedScopes: ['tests'] };

describe('the last sync, verify and quota in mirrorTrust', () => {
  test('an unrestricted reader sees them as recorded', () => {
    expect(trustFor()).toMatchObject({
      limited_to: null,
      last_run: {
        ...{ run: 1, status: 'problems', started_at: at('09:59'), ended_at: at('10:40') },
        ...{ requests: 40, error: 'tests: 500 from /e/tests/abc' },
      },
      last_verify: { ended_at: at('11:00'), equal: false, difference_count: 3 },
      quota: { limit: 5000, window_seconds: 3600, remaining: 4321, noted_at: at('10:30') },
    });
  });

  test.each([
    ['some environments', E, { status: 'problems', started_at: at('10:00'), ended_at: at('10:20') }],
    ['another environment', F, { status: 'done', started_at: at('10:20'), ended_at: at('10:30') }],
    ['some scopes', NO_TESTS, { status: 'done', started_at: at('10:00'), ended_at: at('10:30') }],
    [
      'some environments and scopes',
      { ...E, ...NO_TESTS },
      { status: 'done', started_at: at('10:00'), ended_at: at('10:05') },
    ],
  ])(
    'a reader of %s sees only a last sync derived from the visible streams (authentication rule 5)',
    (_, limits, of) => {
      const last_run = { run: 1, ...of, requests: null, error: null };
      expect(trustFor(limits)).toMatchObject({ limited_to: 'streams', last_run, last_verify: null, quota: null });
    },
  );

  test('a reader restricted to some assets sees none of them, and of a stream only until when it is complete (authentication rule 6)', () => {
    const { limited_to, last_run, last_verify, quota, environments: all } = trustFor({ seesSomeAssets: true });
    expect({ limited_to, last_run, last_verify, quota }).toEqual({
      ...{ limited_to: 'assets', last_run: null, last_verify: null, quota: null },
    });
    const streams = all.find(({ env_id }) => env_id === 'e')?.streams ?? [];
    expect(streams.find(({ stream }) => stream === 'tests')).toMatchObject({ complete_at: at('10:00') });
    for (const { stream: _, complete_at: __, ...rest } of streams)
      expect(new Set(Object.values(rest))).toEqual(new Set([null]));
  });

  test('a reader without scopes sees no sync and no streams', () => {
    const { last_run, environments: all } = trustFor({ deniedScopes: ['assets', 'tests'] });
    expect([last_run, ...all.map(({ streams }) => streams.length)]).toEqual([null, 0, 0]);
  });
});

describe('the time up to which an environment is complete', () => {
  const completeAt = (limits: Partial<TrustReader> = {}) => {
    const late = { env_id: 'e', watermark: at('09:00'), unavailable: 0 };
    const { environments: all } = trustFor(limits, ({ db }) =>
      insert(db, syncCheckpoints, [
        { ...late, stream: 'latest_test_executions' },
        { ...late, stream: 'test_executions', watermark: at('08:00') },
      ]),
    );
    return all.map(({ env_id, complete_at }) => [env_id, complete_at]);
  };

  test('is that of the visible stream that is furthest behind, but not of histories', () => {
    expect(completeAt()).toEqual([
      ['f', null],
      ['e', at('09:00')],
    ]);
    expect(completeAt({ ...E, ...NO_TESTS })).toEqual([['e', at('10:00')]]);
  });

  test('is in a report as that of the environment that is furthest behind', () => {
    const { seen } = mirrorOf(({ db }) => {
      insert(db, environments, { id: 'f', name: 'Another', mirrored_at: NOW });
      for (const env_id of ['e', 'f'])
        insert(db, syncCheckpoints, {
          env_id,
          stream: 'assets',
          watermark: at(`0${env_id === 'e' ? 7 : 9}:00`),
          unavailable: 0,
        });
    });
    const report = seen(({ reads }) => recordAnswers(reads, null, NOW));
    expect(report.complete_at).toBe(at('07:00'));
  });
});

test('an environment shows a pruned history only if the pruning is complete, removed rows, and did more than thin', () => {
  const row = { env_id: 'e', pruned_through: '', row_count: 5, mirrored_at: NOW, complete_before: at('00:00') };
  const { environments: all } = trustFor(E, ({ db }) =>
    insert(db, prunedHistory, [
      { ...row, history: 'test_executions', action: 'delete' },
      { ...row, history: 'asset_health_score_history', action: 'thin' },
      { ...row, history: 'asset_health_score_history', action: 'delete', row_count: 0 },
      { ...row, history: 'unfinished', action: 'delete', complete_before: null },
    ]),
  );
  expect(all.map(({ pruned }) => pruned)).toEqual([[{ history: 'test_executions', before: at('00:00') }]]);
});

describe('the last sync that a reader of some streams sees', () => {
  const ending = (status: StreamStatus) => trustFor(F, ({ db }) => db.update(syncStreamRuns).set({ status }).run());

  test.each([
    ['done', 'done'],
    ['unavailable', 'done'],
    ['held', 'problems'],
    ['waiting', 'problems'],
    ['stopped', 'problems'],
  ] as const)('a visible stream that ended %s makes it %s, by the same rule as a run (R9)', (status, expected) => {
    expect(ending(status).last_run?.status).toBe(expected);
  });

  test.each([
    ['columns', NO_TESTS, 'problems'],
    ['tests', NO_TESTS, 'done'],
    ['assets', F, 'done'],
  ])('it has problems only while a row of a visible stream is rejected: %s (R20)', (stream, limits, expected) => {
    const { last_run } = trustFor(limits, ({ db }) =>
      insert(db, rejectedRows, {
        run_id: 1,
        env_id: 'e',
        stream,
        row_key: 'x',
        reason: '',
        payload: '{}',
        seen_at: NOW,
      }),
    );
    expect(last_run?.status).toBe(expected);
  });

  test('it is the last sync that read a visible stream, and never a repair', () => {
    const { last_run } = trustFor(E, ({ db }) => {
      insert(db, syncRuns, [syncRun(2), syncRun(3, { command: 'verify' })]);
      insert(db, syncStreamRuns, [
        streamRun({ run_id: 2, env_id: 'f', stream: 'assets', from: '11:00', to: '11:30' }),
        streamRun({ run_id: 3, stream: 'assets', from: '12:00', to: '12:30' }),
      ]);
    });
    expect(last_run).toMatchObject({ run: 1, ended_at: at('10:20') });
  });

  test('it does not reveal whether the run still reads hidden streams', () => {
    const { last_run } = trustFor(F, ({ db }) => db.update(syncRuns).set({ status: 'running', ended_at: null }).run());
    expect(last_run).toMatchObject({ status: 'done', ended_at: at('10:30') });
  });
});

describe('an environment that the service no longer lists', () => {
  const since = at('08:00');
  const recorded = (chosen: ReadonlySet<string> | null) => {
    const { seen } = mirrorOf((writing) => {
      fillWorld(writing);
      writing.connection.exec(`update environments set missing_since = '${since}' where id = 'e'`);
    });
    return seen(({ reads }) => recordAnswers(reads, chosen, NOW));
  };
  const partsOf = ({ answers }: ReturnType<typeof recorded>) => new Set(answers.map(({ env }) => env));
  const trustOf = ({ answers }: ReturnType<typeof recorded>) => answers.find(({ name }) => name === 'mirror')?.data;

  test('it is shown with its streams but has no other views', () => {
    const { environments: all } = trustFor({}, ({ db }) => db.update(environments).set({ missing_since: since }).run());
    expect(all).toMatchObject([
      { env_id: 'f', missing_since: since, has_views: false },
      { env_id: 'e', missing_since: since, has_views: false },
    ]);
    expect(all[1]?.streams.find(({ stream }) => stream === 'assets')?.status).toBe('done');
  });

  test('it and its failing tests are left out of a report of all environments', () => {
    const all = recorded(null);
    expect(all).toMatchObject({ environments: ['Another'], failing_count: 0 });
    expect(partsOf(all)).toEqual(new Set([null, 'f']));
    expect(trustOf(all)).toMatchObject({
      environments: [
        { env_id: 'f', has_views: true },
        { env_id: 'e', missing_since: since, has_views: false },
      ],
    });
  });

  test('it is in a report that was requested for it', () => {
    const one = recorded(new Set(['e']));
    expect(one).toMatchObject({ environments: ['Environment'] });
    expect(one.failing_count).toBeGreaterThan(0);
    expect(partsOf(one)).toEqual(new Set([null, 'e']));
    expect(trustOf(one)).toMatchObject({ environments: [{ env_id: 'e', missing_since: since, has_views: true }] });
  });
});
