import { describe, expect, test } from 'vitest';
import { type Checkpoint, NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import type { ExistingRow } from '../../../src/core/decide/difference.ts';
import {
  causeOf,
  changesAhead,
  isUnsynced,
  type PendingCause,
  type RefreshTimes,
  type RowPair,
} from '../../../src/core/decide/pending.ts';
import type { DecodedRow } from '../../../src/core/decode/decode.ts';
import type { Row, Stream } from '../../../src/core/stream.ts';
import { streamOf } from '../setup.ts';

const [ASSETS, COLUMNS] = [streamOf('assets'), streamOf('columns')];
const RUNS = streamOf('latest_test_executions');
const SCORES = streamOf('asset_health_scores');
const EDGES = streamOf('asset_lineage');

const at = (time: string): string => `2026-11-20T${time}.000000Z`;
const WATERMARK = at('12:00:00');
const checkpoint: Checkpoint = { ...NO_PROGRESS, watermark: WATERMARK };
const TIMES: RefreshTimes = { watermark: WATERMARK, now: at('12:30:00'), refreshedAt: null, metRefreshAt: null };

const held = (row: Row, parts: Row[] = []): ExistingRow => ({ row, parts: [parts] });
const shown = (row: Row, parts: Row[] = []): DecodedRow => ({ key: ['k'], row, deletedAt: null, parts: [parts] });
const cause = (of: Stream, sides: Partial<RowPair>, times: Partial<RefreshTimes> = {}): PendingCause | null =>
  causeOf(of, { existing: undefined, shown: undefined, ...sides }, { ...TIMES, ...times });

describe('causeOf a row that the mirror lacks', () => {
  test.each([
    ['changed a row dated at the watermark or later', '12:00:00', 'changed'],
    ['did not change a row dated earlier, which the last round returned (R2)', '11:59:59', null],
  ])('the source %s', (_how, time, is) => {
    expect(cause(COLUMNS, { shown: shown({ synced_at: at(time) }) })).toBe(is);
  });

  test('the source changed a row that is newer than its tombstone in the mirror (R10)', () => {
    const grave = (time: string) => held({ deleted_at: at(time), deletion: 'tombstone' });
    const row = shown({ synced_at: at('13:00:00') });
    expect(cause(COLUMNS, { shown: row, existing: grave('12:30:00') })).toBe('changed');
    expect(cause(COLUMNS, { shown: row, existing: grave('13:00:00') })).toBeNull();
  });

  test('a row without a time, or a mirror without a watermark, proves no change at the source', () => {
    expect(cause(COLUMNS, { shown: shown({ synced_at: null }) })).toBeNull();
    expect(cause(COLUMNS, { shown: shown({ synced_at: at('13:00:00') }) }, { watermark: null })).toBeNull();
  });
});

describe('causeOf a row that differs', () => {
  test.each([
    ['10:00:00', '12:00:00', 'changed'],
    ['10:00:00', '11:00:00', null],
    ['13:00:00', '13:00:00', null],
    ['14:00:00', '13:00:00', null],
  ])('only a later time at the source counts as a change: %s in the mirror, %s at the source', (ours, theirs, is) => {
    const sides = { existing: held({ synced_at: at(ours) }), shown: shown({ synced_at: at(theirs) }) };
    expect(cause(COLUMNS, sides)).toBe(is);
  });

  test('an execution without `synced_at` is dated by its end', () => {
    const run = (time: string, duration_seconds: number): Row => ({
      synced_at: null,
      start_time: at(time),
      duration_seconds,
    });
    const before = held(run('09:00:00', 1));
    expect(cause(RUNS, { existing: before, shown: shown(run('11:59:50', 9)) })).toBeNull();
    expect(cause(RUNS, { existing: before, shown: shown(run('11:59:50', 10)) })).toBe('changed');
    expect(cause(RUNS, { existing: held(run('11:59:50', 10)), shown: shown(run('11:59:50', 10)) })).toBeNull();
  });
});

describe('causeOf a score that differs', () => {
  const score = (time: string): Row => ({ bucket_at: at(time) });
  const both = (ours: string, theirs: string) => ({ existing: held(score(ours)), shown: shown(score(theirs)) });

  test('a later bucket, of the total or of a dimension, is a change if it was not over at the watermark', () => {
    expect(cause(SCORES, both('11:00:00', '12:00:00'))).toBe('changed');
    expect(cause(SCORES, both('10:00:00', '11:00:00'))).toBeNull();
    const dimension = {
      existing: held(score('11:00:00'), [score('11:00:00')]),
      shown: shown(score('11:00:00'), [score('12:00:00')]),
    };
    expect(cause(SCORES, dimension)).toBe('changed');
  });

  test('a difference is ambiguous while its hour lasts', () => {
    expect(cause(SCORES, both('12:00:00', '12:00:00'))).toBe('ambiguous');
    expect(cause(SCORES, both('11:00:00', '11:00:00'))).toBeNull();
  });

  test('a difference is ambiguous in a later hour, because the next sync reads all scores (R22)', () => {
    const sides = [both('11:00:00', '11:00:00'), { existing: held(score('11:00:00')) }];
    for (const each of sides) {
      expect(cause(SCORES, each)).toBeNull();
      expect(cause(SCORES, each, { now: at('13:00:00') })).toBe('ambiguous');
    }
  });

  test('a score that the source lacks is a change once it was older than seven days at the watermark', () => {
    const old = (day: string) => ({ existing: held({ bucket_at: `2026-11-${day}:00:00.000000Z` }) });
    expect(cause(SCORES, old('13T12'))).toBe('changed');
    expect(cause(SCORES, old('13T13'))).toBeNull();
    expect(cause(SCORES, old('13T09'))).toBeNull();
  });
});

test('a difference in edges between assets is ambiguous once the service has refreshed the environment', () => {
  const edge = { existing: held({ upstream_asset_id: 'a', downstream_asset_id: 'b' }) };
  expect(cause(EDGES, edge, { refreshedAt: at('11:59:59') })).toBeNull();
  expect(cause(EDGES, edge, { refreshedAt: at('12:00:01') })).toBe('ambiguous');
  expect(cause(EDGES, edge, { refreshedAt: at('12:00:01'), metRefreshAt: at('12:00:01') })).toBe('ambiguous');
});

test('a refresh within the second of T makes edges ambiguous, unless the run saw it when it began', () => {
  const edge = { existing: held({ upstream_asset_id: 'a', downstream_asset_id: 'b' }) };
  const refreshedAt = '2026-11-20T12:00:00.300000Z';
  expect(cause(EDGES, edge, { refreshedAt })).toBe('ambiguous');
  expect(cause(EDGES, edge, { refreshedAt, metRefreshAt: at('11:00:00') })).toBe('ambiguous');
  expect(cause(EDGES, edge, { refreshedAt, metRefreshAt: refreshedAt })).toBeNull();
});

describe('changesAhead of a page of a feed', () => {
  const row = (time: string, name = 'n'): Row => ({ id: 'k', kind: 'table', name, synced_at: at(time) });
  const live = { deleted_at: null, deletion: null };
  const buried = (time: string): DecodedRow => ({ ...shown({ id: 'k' }), deletedAt: at(time) });
  const ahead = (page: DecodedRow, ours?: Row) =>
    changesAhead(ASSETS, [page], new Map(ours ? [['k', held(ours)]] : []));
  const marked = (page: DecodedRow, ours?: Row) => ahead(page, ours).marks.map((mark) => mark.stream);

  test('the changes are those of newest-wins, with their marks (R10, R13, R22)', () => {
    expect(marked(shown(row('12:10:00')))).toEqual(['table_assets']);
    expect(marked(shown(row('12:10:00')), { ...row('11:00:00'), ...live })).toEqual(['table_assets']);
    expect(marked(buried('12:10:00'), { ...row('11:00:00'), ...live })).toEqual(['columns', 'tests']);
    expect(ahead(shown(row('12:10:00')), { ...row('12:20:00'), ...live }).changed).toEqual([]);
    expect(ahead(buried('12:10:00'), { ...row('12:20:00'), ...live }).changed).toEqual([]);
  });

  test('a tombstone of a row that the mirror never had marks its children (R13)', () => {
    expect(marked(buried('12:10:00'))).toEqual(['columns', 'tests']);
    expect(ahead(buried('12:10:00'))).toMatchObject({ changed: ['k'], deleted: ['k'] });
  });

  test('a tombstone that is newer than the stored one marks its children, and an equal one changes nothing (R13)', () => {
    const gone = { ...row('11:00:00'), deleted_at: at('12:00:00'), deletion: 'tombstone' };
    expect(marked(buried('12:10:00'), gone)).toEqual(['columns', 'tests']);
    expect(marked(buried('12:00:00'), gone)).toEqual([]);
  });

  test('a row of the same time is no change, because the source hasn’t changed it', () => {
    expect(ahead(shown(row('12:10:00')), { ...row('12:10:00', 'wrong'), ...live }).changed).toEqual([]);
  });
});

describe('isUnsynced', () => {
  test('a stream is unsynced until its first scan or first snapshot has ended', () => {
    expect(isUnsynced(COLUMNS, { ...NO_PROGRESS, watermark: WATERMARK })).toBe(true);
    expect(isUnsynced(COLUMNS, { ...NO_PROGRESS, scanEndedCycle: 1 })).toBe(false);
    expect(isUnsynced(RUNS, NO_PROGRESS)).toBe(true);
    expect(isUnsynced(RUNS, { ...NO_PROGRESS, finishedCycle: 1 })).toBe(false);
    expect(isUnsynced(RUNS, { ...NO_PROGRESS, finishedCycle: 1, unavailable: true })).toBe(true);
    expect(isUnsynced(RUNS, checkpoint)).toBe(false);
  });
});
