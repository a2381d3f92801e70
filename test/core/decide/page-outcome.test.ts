import { describe, expect, test } from 'vitest';
import type { Checkpoint, Read, ReadStep, Round } from '../../../src/core/checkpoint.ts';
import type { Context } from '../../../src/core/context.ts';
import type { PageInput } from '../../../src/core/decide/page-input.ts';
import { type PageOutcome, pageOutcome } from '../../../src/core/decide/page-outcome.ts';
import { decodePage } from '../../../src/core/decode/decode.ts';
import type { Row, StreamName } from '../../../src/core/stream.ts';
import { addDays } from '../../../src/core/time/instant.ts';
import { ask, column, context, inRead, LAST_WEEK, read, streamOf, T, walk, YESTERDAY } from '../setup.ts';

interface Given {
  readonly stream?: StreamName;
  readonly items?: readonly unknown[];
  readonly read?: Partial<Read>;
  readonly round?: Partial<Round>;
  readonly from?: Partial<Checkpoint>;
  readonly held?: readonly Row[];
  /** The cursor of the next page; omitted for the last page. */
  readonly next?: string | null;
  readonly hasMore?: boolean;
  readonly met?: readonly string[];
  /** Whether more of the page follows. */
  readonly isPart?: true;
  readonly marking?: readonly StreamName[];
  readonly context?: Context;
}

function arrive(given: Given): PageOutcome {
  const stream = streamOf(given.stream ?? 'columns');
  const items = given.items ?? [];
  const steps: ReadStep[] = [walk(given.read?.as === 'upserts' ? 'upserts' : 'scan')];
  const pageInput: PageInput = {
    stream,
    checkpoint: inRead({ mode: 'scan', steps, ...given.round, read: read(given.read) }, given.from),
    page: { items, hasMore: given.hasMore ?? given.next !== undefined, nextCursor: given.next ?? null },
    decoded: { ...decodePage(stream, items), ...(given.isPart ? { isPart: true } : {}) },
    existing: new Map((given.held ?? []).map((row) => [String(row['id']), row])),
    visitedCursors: new Set(given.met),
    markableStreams: new Set(given.marking),
  };
  return pageOutcome(pageInput, given.context ?? context());
}

const live = (id: string, more: Row = {}): Row => ({
  ...{
    id,
    asset_id: 'a',
    name: id,
    data_type: null,
    synced_at: YESTERDAY,
    extra: null,
    deleted_at: null,
    deletion: null,
  },
  ...more,
});
const gone = { deleted_at: YESTERDAY, deletion: 'tombstone' };
const edge = { upstream_asset_id: 'u', downstream_asset_id: 'd' };
const feed: Partial<Read> = { as: 'upserts' };
const fates = ({ commit }: PageOutcome) => (commit.changes ?? []).map(({ row, kind }) => `${row['id']} ${kind}`);

describe('the commit of a page (R5)', () => {
  const items = [column('c', T), column('d', T), { id: 'e' }, column('f', null, { ...gone, deleted_at: T })];
  const page = () => arrive({ items, held: [live('d'), live('f')], marking: ['column_lineage'], next: 'c2' });

  test.each<[string, Partial<Read>, object, Row]>([
    ['an upsert', feed, column('f', YESTERDAY), live('f', { ...gone, synced_at: null })],
    ['a tombstone', { as: 'tombstones' }, column('f', null, gone), live('f')],
  ])('%s in a feed that ties with the mirror’s row doesn’t win: the row is looked up (R10)', (_, as, item, held) => {
    const { commit } = arrive({ items: [item], held: [held], read: as });
    expect(commit.ties).toEqual([['f']]);
    expect(commit.changes?.every(({ row }) => row['deleted_at'] === held['deleted_at'])).toBe(true);
    expect(commit.checkpoint.round.steps.at(-1)).toMatchObject({ do: 'look-up', about: 'ties' });
  });

  test('a tied row that was looked up is live if it is returned, else absent (R10)', () => {
    const asked = {
      read: { as: 'ties', number: 3 },
      round: { steps: [ask('ties', { ids: ['f'], firstRead: 3 })] },
    } as const;
    const held = [live('f', { ...gone, deleted_at: T, synced_at: YESTERDAY })];
    const shown = arrive({ ...asked, items: [column('f', T)], held });
    expect(fates(shown)).toEqual(['f restored']);
    expect(shown.commit).not.toHaveProperty('ties');
    expect(shown.commit.sweptRows).toEqual({ by: 'id', ids: ['f'], sinceRead: 3, at: T, isConfirmed: true });
  });

  test('it has the rows, by their kind of change', () => {
    expect(fates(page())).toEqual(['c inserted', 'd updated', 'f deleted']);
  });

  test('it has the marks of the changes, for the streams that can be marked (R18)', () => {
    expect(page().commit.marks?.map((mark) => mark.id)).toEqual(['c', 'd']);
    expect(arrive({ items }).commit.marks).toEqual([]);
  });

  test('it has the rejected rows and the returned keys (R14, R20)', () => {
    expect(page().commit.rejected?.map((row) => row.rowKey)).toEqual(['e']);
    expect(page().commit.returnedKeys).toEqual([['c'], ['d'], ['f']]);
    expect(arrive({ stream: 'asset_lineage', items: [edge] }).commit.returnedKeys).toEqual([['u', 'd']]);
  });

  test('a tombstone clears no rejection: it may be older than the rejected version (R20)', () => {
    const tombstones = read({ as: 'tombstones' });
    const dead = arrive({ items: [column('c', null, { deleted_at: T })], held: [live('c')], read: tombstones });
    expect(dead.commit).toMatchObject({ returnedKeys: [['c']], keepsRejected: true });
    expect(page().commit).not.toHaveProperty('keepsRejected');
  });

  test('an upsert counts as returned even if it changes nothing, but a tombstone without effect does not (R14)', () => {
    const overruled = { ...gone, deleted_at: LAST_WEEK };
    const shownBy = (item: object) => arrive({ items: [item], held: [live('c')], read: feed }).commit.returnedKeys;
    expect(shownBy(column('c', null, overruled))).toEqual([]);
    expect(shownBy(column('c', YESTERDAY))).toEqual([['c']]);
  });

  test('it has the progress: the next cursor, with the query unchanged', () => {
    expect(page().commit.checkpoint.round).toMatchObject({
      pages: 1,
      firstPageAt: T,
      read: { ...read(), cursor: 'c2' },
    });
  });

  test('a scan counts the pages of its lists, but no feed and no lookup (R13)', () => {
    const counted = (given: Given): unknown =>
      arrive({ ...given, round: { pages: 3, scanPages: 2 } }).commit.checkpoint.round?.scanPages;
    expect([counted({}), counted({ next: 'c2' })]).toEqual([3, 3]);
    expect([counted({ read: feed }), counted({ read: { as: 'tombstones' } })]).toEqual([2, 2]);
    expect(arrive({ isPart: true }).commit.checkpoint.round?.scanPages).toBe(0);
  });

  test('it keeps the time of the round’s first page (R2)', () => {
    const later = arrive({ round: { pages: 1, firstPageAt: YESTERDAY }, next: 'c2' });
    expect(later.commit.checkpoint.round).toMatchObject({ pages: 2, firstPageAt: YESTERDAY });
    expect(arrive({ round: { pages: 1 } }).commit.checkpoint.round?.firstPageAt).toBeNull();
    // A later response may show that the first page was dated too late (R1).
    const tomorrow = { pages: 1, firstPageAt: addDays(T, 1) };
    expect(arrive({ round: tomorrow, next: 'c2' }).commit.checkpoint.round?.firstPageAt).toBe(T);
  });
});

describe('the commit of a slice of a heavy page (R5, R27)', () => {
  const items = [column('c', T)];

  test.each([{ next: 'c2' }, {}])('it does not advance the read, whether or not more pages follow: %j', (more) => {
    const { commit } = arrive({ items, isPart: true, ...more });
    expect(commit.changes).toHaveLength(1);
    expect(commit.checkpoint.round).toMatchObject({ pages: 0, firstPageAt: T, read: { ...read(), cursor: null } });
  });

  test('no read ends before the last slice of its page (R13)', () => {
    const readStep = ask('owned', { ids: ['a'], variant: 0 });
    const owned = { items, read: { as: 'owned' }, round: { steps: [readStep] } } as const;
    expect(arrive({ ...owned, isPart: true }).commit).not.toHaveProperty('clearedMarks');
    expect(arrive({ ...owned, isPart: true }).commit).not.toHaveProperty('sweptParents');
    expect(arrive(owned).commit.clearedMarks).toEqual({ ids: ['a'], lastMark: 0 });
  });

  test('a missing cursor is refused before the first slice (R8)', () => {
    expect(() => arrive({ items, isPart: true, hasMore: true })).toThrow('has_more without a cursor');
  });
});

describe('the end of a read (R8)', () => {
  test('an empty page with has_more doesn’t end the read', () => {
    expect(arrive({ next: 'c2' }).commit.checkpoint.round?.read?.cursor).toBe('c2');
  });

  test('a page without has_more ends the read, whatever its cursor', () => {
    const { checkpoint: next } = arrive({
      next: 'c2',
      hasMore: false,
      round: { steps: [walk('scan'), ask('candidates')] },
    }).commit;
    expect(next.round).toMatchObject({ read: null, steps: [ask('candidates')] });
  });

  const again = 'assets/tables repeats a cursor: this is an error of the service';
  const none = 'assets/tables answers has_more without a cursor: this is an error of the service';

  test.each<[string, Given, string]>([
    ['without a cursor', { hasMore: true }, none],
    ['without a cursor on a later page', { hasMore: true, read: { cursor: 'c2' } }, none],
    ['with the cursor just used', { next: 'c2', read: { cursor: 'c2' } }, again],
    ['with an earlier cursor of the same read', { next: 'c1', read: { cursor: 'c2' }, met: ['c1', 'c2'] }, again],
  ])('has_more %s is an error', (_, given, fault) => {
    const message = expect.stringContaining(fault);
    expect(() => arrive({ stream: 'table_assets', ...given })).toThrow(
      expect.objectContaining({ recovery: 'restart-round', message }),
    );
  });
});

describe('which version wins on a page (R10)', () => {
  const within = '2026-11-20T03:30:00.000000Z';
  const LATER = '2026-11-20T04:20:00.000000Z';

  test('a feed compares the times of the rows', () => {
    const items = [column('c', LAST_WEEK, { name: 'old' })];
    expect(fates(arrive({ items, held: [live('c')], read: feed }))).toEqual([]);
  });

  test.each(['scan', 'candidates', 'owned'] as const)(
    'a read of %s wins over any row not changed since its T minus the overlap',
    (as) => {
      const items = [column('c', LAST_WEEK), column('d', LAST_WEEK)];
      const held = [live('c'), live('d', { synced_at: within })];
      const steps = as === 'scan' ? [walk(as)] : [ask(as)];
      expect(fates(arrive({ items, held, read: { as }, round: { steps } }))).toEqual(['c updated']);
    },
  );

  test('the T of a read is that of the run in which it began', () => {
    const given = { items: [column('c', LAST_WEEK)], held: [live('c')] };
    expect(fates(arrive({ ...given, read: { at: YESTERDAY } }))).toEqual([]);
    expect(fates(arrive({ ...given, read: { at: null } }))).toEqual(['c updated']);
  });

  test.each([
    [[column('c', T), column('c', T, { name: 'again' })], [], 'c inserted again'],
    [[column('c', null, gone), column('c', T)], [live('c')], 'c updated c'],
    [[column('c', T), column('c', T, { name: 'again' })], [live('c', gone)], 'c restored again'],
    [[column('c', LAST_WEEK), column('c', null, gone)], [], 'c tombstoned c'],
    [[column('c', null, gone), column('c', null, { deleted_at: T })], [live('c')], 'c deleted c'],
    [
      [column('c', null, { deleted_at: T }), column('c', null, { deleted_at: LATER })],
      [live('c', gone)],
      'c tombstoned c',
    ],
    [[column('c', null, { deleted_at: T }), column('c', LATER)], [live('c', gone)], 'c restored c'],
  ])('a row that is returned twice makes one change (%#)', (items, held, expected) => {
    const { changes } = arrive({ items, held }).commit;
    expect(changes?.map(({ row, kind }) => `${row['id']} ${kind} ${row['name']}`)).toEqual([expected]);
  });
});

describe('rows that became visible (R13)', () => {
  const asset = { id: 'a', name: 'a', kind: 'semantic', source_type: 'dbt', synced_at: LAST_WEEK };
  const marks = (given: Given) =>
    arrive({ stream: 'assets', items: [asset], marking: ['columns', 'tests'], ...given }).commit.marks?.length;

  test('a row older than the last round became visible if a later scan finds it for the first time', () => {
    expect(marks({})).toBe(2);
    expect(marks({ items: [{ ...asset, synced_at: '2026-11-19T04:10:00.999999Z' }] })).toBe(2);
    expect(marks({ items: [{ ...asset, synced_at: '2026-11-19T04:10:01Z' }] })).toBe(0);
  });

  test.each<[string, Given]>([
    ['that a feed returns', { read: feed }],
    ['that a first scan finds', { from: { scannedAt: null, watermark: null } }],
    ['newer than the last round', { items: [{ ...asset, synced_at: T }] }],
    ['that the mirror has', { held: [live('a', { ...asset, name: 'before' })] }],
    ['found by a scan that knows no watermark', { from: { watermark: null } }],
  ])('a row %s did not become visible', (_, given) => {
    expect(marks(given)).toBe(0);
  });

  test('a tombstone makes the marks of a deleted row unless the mirror has this very tombstone', () => {
    const buried = { ...asset, deleted_at: YESTERDAY };
    const held = [live('a', { ...asset, deleted_at: YESTERDAY, deletion: 'tombstone' })];
    expect(marks({ items: [buried], read: feed })).toBe(2);
    expect(marks({ items: [{ ...buried, deleted_at: T }], held, read: feed })).toBe(2);
    expect(marks({ items: [buried], held, read: feed })).toBe(0);
  });
});

describe('late rows (R2)', () => {
  const late = (syncedAt: string, given: Given = {}) =>
    arrive({
      items: [column('c', syncedAt)],
      held: [live('c', { synced_at: LAST_WEEK })],
      from: { scannedAt: LAST_WEEK },
      ...given,
    }).late;

  test('a changed live row is late if a scan finds it dated between the last scan and the reach of the feeds', () => {
    expect(late('2026-11-15T00:00:00Z')).toBe(1);
  });

  test.each<[string, string, Given]>([
    ['within the reach of the feeds', YESTERDAY, {}],
    ['exactly where the reach of the feeds begins', '2026-11-19T03:10:00Z', {}],
    ['dated at the last scan', LAST_WEEK, { held: [live('c', { name: 'x', synced_at: null })] }],
    ['new to the mirror', '2026-11-15T00:00:00Z', { held: [] }],
    ['returned by a feed', '2026-11-15T00:00:00Z', { read: feed }],
    ['of a stream without a watermark', '2026-11-15T00:00:00Z', { from: { scannedAt: LAST_WEEK, watermark: null } }],
  ])('a row %s is not late', (_, syncedAt, given) => {
    expect(late(syncedAt, given)).toBe(0);
  });

  test('a stream that fills in rows of another stream reports none', () => {
    const table = { id: 'c', name: 'c', kind: 'table', source_type: 'dbt', materialization: 'view' };
    const item = { ...table, data_platform: 'snowflake', db_name: 'p', schema_name: 's', table_name: 't' };
    const held = live('c', { kind: 'table', synced_at: '2026-11-15T00:00:00.000000Z' });
    const filled = arrive({ stream: 'table_assets', items: [item], held: [held], from: { scannedAt: LAST_WEEK } });
    expect([fates(filled), filled.late]).toEqual([['c updated'], 0]);
  });
});
