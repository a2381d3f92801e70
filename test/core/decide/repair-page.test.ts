import { describe, expect, test } from 'vitest';
import { type Checkpoint, NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import type { Context } from '../../../src/core/context.ts';
import { markAbsent, repairPage } from '../../../src/core/decide/repair-page.ts';
import { decodePage, joinKey } from '../../../src/core/decode/decode.ts';
import type { Row, Stream, StreamName } from '../../../src/core/stream.ts';
import { CATALOGUE } from '../../../src/streams/catalogue.ts';

const stream = (name: StreamName): Stream => CATALOGUE.find((entry) => entry.name === name) as Stream;
const [ASSETS, COLUMNS] = [stream('assets'), stream('columns')];
const T = '2026-11-20T12:00:00.000000Z';
const options = { full: false, fullEveryDays: 7, overlapSeconds: 3600, pageSize: 2000, allowShrink: false };
const context: Context = { run: 7, cycle: 7, serverTime: T, latestServerTime: T, newestReading: T, options };
const checkpoint: Checkpoint = { ...NO_PROGRESS, watermark: T, scannedAt: T, scanEndedCycle: 3, finishedCycle: 3 };
const markableStreams = new Set<StreamName>(['table_assets', 'column_lineage', 'columns', 'tests']);

const ITEM = { id: 'c', asset_id: 'a', name: 'n', data_type: 'int', synced_at: '2026-11-20T09:00:00Z' };
const row = (item: object): Row => decodePage(COLUMNS, [item]).rows[0]?.row as Row;
const LIVE = { deleted_at: null, deletion: null };

function mended(of: Stream, items: readonly object[], held: readonly Row[]) {
  const page = { items, hasMore: true, nextCursor: 'next' };
  const decoded = decodePage(of, items);
  const byKey = new Map(held.map((each) => [joinKey([String(each['id'])]), each]));
  return repairPage({ stream: of, checkpoint, page, decoded, existing: byKey, markableStreams }, context);
}

describe('repairPage', () => {
  test('a row that the mirror lacks is inserted, and the checkpoint stays as it is', () => {
    const commit = mended(COLUMNS, [ITEM], []);
    expect(commit.checkpoint).toBe(checkpoint);
    expect(commit.changes).toEqual([{ row: { ...row(ITEM), ...LIVE }, kind: 'inserted' }]);
    expect(commit.marks).toEqual([{ stream: 'column_lineage', id: 'c' }]);
  });

  test.each([
    ['a name that differs', { name: 'm' }, 'updated'],
    ['a time in the future (R10)', { data_type: 'x', synced_at: '2036-01-01T00:00:00.000000Z' }, 'updated'],
    ['a tombstone of just now (R10)', { deleted_at: T, deletion: 'tombstone' }, 'restored'],
    ['a tombstone in the future', { deleted_at: '2036-01-01T00:00:00.000000Z', deletion: 'tombstone' }, 'restored'],
    ['an absent row', { deleted_at: T, deletion: 'absent' }, 'restored'],
  ])('the response wins over %s', (_what, wrong, kind) => {
    const commit = mended(COLUMNS, [ITEM], [{ ...row(ITEM), ...LIVE, ...wrong }]);
    expect(commit.changes).toEqual([{ row: { ...row(ITEM), ...LIVE }, kind }]);
  });

  test('a correct row is not written (R21)', () => {
    expect(mended(COLUMNS, [ITEM], [{ ...row(ITEM), ...LIVE }]).changes).toEqual([]);
  });

  test.each([['2026-11-20T09:00:00Z'], [null]])(
    'only fields of another kind are blanked, and the row is marked for its own stream: synced at %s (R22)',
    (synced_at) => {
      const item = { id: 'a', name: 'n', kind: 'table', source_type: 'dbt', ...(synced_at ? { synced_at } : {}) };
      const typed = { db_name: 'd', schema_name: 's', url: 'wrong', bi_type: null, bi_platform: null, extra: null };
      const common = decodePage(ASSETS, [item]).rows[0]?.row as Row;
      const commit = mended(ASSETS, [item], [{ ...common, ...typed, ...LIVE }]);
      expect(commit.changes?.[0]?.row).toEqual({ ...common, ...typed, ...LIVE, url: null });
      expect(commit.marks).toContainEqual({ stream: 'table_assets', id: 'a' });
    },
  );
});

describe('markAbsent', () => {
  test('rows that the source lacks are absent as of the run, and their children are marked (R11, R13)', () => {
    const held = { id: 'a', kind: 'table', ...LIVE };
    const commit = markAbsent({ stream: ASSETS, checkpoint, markableStreams: new Set(['columns']) }, [held], T);
    expect(commit).toEqual({
      kind: 'page',
      checkpoint,
      changes: [{ row: { ...held, deleted_at: T, deletion: 'absent' }, kind: 'deleted' }],
      marks: [{ stream: 'columns', id: 'a' }],
    });
  });
});
