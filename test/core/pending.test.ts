import { describe, expect, it } from 'vitest';
import { type Checkpoint, NO_PROGRESS } from '../../src/core/checkpoint.ts';
import type { Context } from '../../src/core/context.ts';
import type { Decoded } from '../../src/core/decode.ts';
import type { Difference, HeldRow } from '../../src/core/difference.ts';
import { type Evidence, isMendedBySync, isPending, isUnsynced } from '../../src/core/pending.ts';
import type { Row, Stream } from '../../src/core/stream.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';

const stream = (name: Stream['name']): Stream => CATALOGUE.find((entry) => entry.name === name) as Stream;
const COLUMNS = stream('columns');
const RUNS = stream('latest_test_executions');
const SCORES = stream('asset_health_scores');

const at = (time: string): string => `2026-11-20T${time}.000000Z`;
const WATERMARK = at('12:00:00');
const checkpoint: Checkpoint = { ...NO_PROGRESS, watermark: WATERMARK };
const options = { full: false, fullEveryDays: 7, overlapSeconds: 3600, pageSize: 2000, allowShrink: false };
const context: Context = { run: 1, pass: 1, now: at('18:00:00'), options };

const held = (row: Row, parts: Row[] = []): HeldRow => ({ row, parts: [parts] });
const shown = (row: Row, parts: Row[] = []): Decoded => ({ key: ['k'], row, deletedAt: null, parts: [parts] });

function evidence(what: Difference['what'], sides: Partial<Evidence>): Evidence {
  return { difference: { what, fields: [] }, held: undefined, shown: undefined, tombstoneAt: null, ...sides };
}

const pending = (of: Stream, what: Difference['what'], sides: Partial<Evidence>): boolean =>
  isPending(of, evidence(what, sides), { checkpoint, context });

describe('a row that the mirror lacks is pending', () => {
  it.each([
    ['if it changed at the watermark or later', '12:00:00', true],
    ['not if it was there before: the last round has shown it (R2)', '11:59:59', false],
  ])('%s', (_how, time, is) => {
    expect(pending(COLUMNS, 'missing', { shown: shown({ synced_at: at(time) }) })).toBe(is);
  });

  it('if it is newer than the tombstone that the mirror holds (R10)', () => {
    const grave = (time: string) => held({ deleted_at: at(time), deletion: 'tombstone' });
    expect(pending(COLUMNS, 'missing', { shown: shown({ synced_at: at('13:00:00') }), held: grave('12:30:00') })).toBe(
      true,
    );
    expect(pending(COLUMNS, 'missing', { shown: shown({ synced_at: at('13:00:00') }), held: grave('13:00:00') })).toBe(
      false,
    );
  });

  it('never without a time, nor in a mirror without a watermark', () => {
    expect(pending(COLUMNS, 'missing', { shown: shown({ synced_at: null }) })).toBe(false);
    const sides = evidence('missing', { shown: shown({ synced_at: at('13:00:00') }) });
    expect(isPending(COLUMNS, sides, { checkpoint: NO_PROGRESS, context })).toBe(false);
  });
});

describe('a row that differs is pending', () => {
  const sides = (ours: string, theirs: string) => ({
    held: held({ synced_at: at(ours) }),
    shown: shown({ synced_at: at(theirs) }),
  });

  it('if the source changed it since, which its later time tells', () => {
    expect(pending(COLUMNS, 'unequal', sides('10:00:00', '12:00:00'))).toBe(true);
    expect(pending(COLUMNS, 'unequal', sides('10:00:00', '11:00:00'))).toBe(false);
    expect(pending(COLUMNS, 'unequal', sides('13:00:00', '13:00:00'))).toBe(false);
    expect(pending(COLUMNS, 'unequal', sides('14:00:00', '13:00:00'))).toBe(false);
  });

  it('an execution by its end, where it has no `synced_at`', () => {
    const run = (time: string, duration_seconds: number): Row => ({
      synced_at: null,
      start_time: at(time),
      duration_seconds,
    });
    const before = held(run('09:00:00', 1));
    expect(pending(RUNS, 'unequal', { held: before, shown: shown(run('11:59:50', 9)) })).toBe(false);
    expect(pending(RUNS, 'unequal', { held: before, shown: shown(run('11:59:50', 10)) })).toBe(true);
    expect(pending(RUNS, 'unequal', { held: held(run('11:59:50', 10)), shown: shown(run('11:59:50', 10)) })).toBe(
      false,
    );
  });

  it('a score by a later bucket, its own or that of a dimension, which was not over at the watermark', () => {
    const score = (time: string): Row => ({ bucket_at: at(time) });
    expect(pending(SCORES, 'unequal', { held: held(score('11:00:00')), shown: shown(score('12:00:00')) })).toBe(true);
    expect(pending(SCORES, 'unequal', { held: held(score('12:00:00')), shown: shown(score('12:00:00')) })).toBe(false);
    expect(pending(SCORES, 'unequal', { held: held(score('10:00:00')), shown: shown(score('11:00:00')) })).toBe(false);
    const dimension = {
      held: held(score('11:00:00'), [score('11:00:00')]),
      shown: shown(score('11:00:00'), [score('12:00:00')]),
    };
    expect(pending(SCORES, 'unequal', dimension)).toBe(true);
  });
});

describe('a row that the source lacks is pending', () => {
  const live = held({ synced_at: at('11:00:00') });

  it('if its tombstone came since, and stands against the row (R10)', () => {
    expect(pending(COLUMNS, 'extra', { held: live, tombstoneAt: at('12:00:00') })).toBe(true);
    expect(pending(COLUMNS, 'extra', { held: live, tombstoneAt: at('11:30:00') })).toBe(false);
    expect(pending(COLUMNS, 'extra', { held: held({ synced_at: at('14:00:00') }), tombstoneAt: at('13:00:00') })).toBe(
      false,
    );
    expect(pending(COLUMNS, 'extra', { held: live })).toBe(false);
  });

  it('if it is a score that fell out of the seven days since', () => {
    const score = (day: string) => ({ held: held({ bucket_at: `2026-11-${day}:00:00.000000Z` }) });
    expect(pending(SCORES, 'extra', score('13T12'))).toBe(true);
    expect(pending(SCORES, 'extra', score('13T19'))).toBe(false);
    expect(pending(SCORES, 'extra', score('13T09'))).toBe(false);
  });
});

describe('the next sync mends', () => {
  const mended = (of: Stream, sides: Partial<Evidence>): boolean =>
    isMendedBySync(of, evidence('unequal', sides), { checkpoint, context });
  const full = (time: string): Row => ({
    id: 'k',
    asset_id: 'a',
    name: 'n',
    data_type: null,
    synced_at: at(time),
    extra: null,
  });

  it('what its feed reaches back to, where the times let it (R2, R10)', () => {
    expect(mended(COLUMNS, { shown: shown(full('11:00:00')) })).toBe(true);
    expect(mended(COLUMNS, { shown: shown(full('10:59:59')) })).toBe(false);
    const future = held({ ...full('17:00:00'), name: 'm', deleted_at: null, deletion: null });
    expect(mended(COLUMNS, { shown: shown(full('11:00:00')), held: future })).toBe(false);
  });

  it('what is read whole each time', () => {
    expect(mended(stream('asset_lineage'), {})).toBe(true);
    expect(mended(SCORES, {})).toBe(false);
  });
});

describe('a stream is unsynced', () => {
  it('until its first scan, or its first snapshot, has ended', () => {
    expect(isUnsynced(COLUMNS, { ...NO_PROGRESS, watermark: WATERMARK })).toBe(true);
    expect(isUnsynced(COLUMNS, { ...NO_PROGRESS, scanEndedPass: 1 })).toBe(false);
    expect(isUnsynced(RUNS, NO_PROGRESS)).toBe(true);
    expect(isUnsynced(RUNS, { ...NO_PROGRESS, finishedPass: 1 })).toBe(false);
    expect(isUnsynced(RUNS, { ...NO_PROGRESS, finishedPass: 1, unavailable: true })).toBe(true);
    expect(isUnsynced(RUNS, checkpoint)).toBe(false);
  });
});
