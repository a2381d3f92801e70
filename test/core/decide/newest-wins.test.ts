import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  absent,
  isTie,
  newestWins,
  type RowChange,
  type TrustedUntil,
  withoutFuture,
} from '../../../src/core/decide/newest-wins.ts';
import { type DecodedRow, decodePage } from '../../../src/core/decode/decode.ts';
import type { Row } from '../../../src/core/stream.ts';
import { column, decoded, streamOf } from '../setup.ts';

const columns = streamOf('columns');
const assets = streamOf('assets');

/** Hours of one day. The stored row changed at `HELD`. */
const hour = (h: number): string => `2026-11-20T${String(h).padStart(2, '0')}:00:00.000000Z`;
const BEFORE = hour(9);
const HELD = hour(10);
const BETWEEN = hour(11);
const GONE = hour(12);
const LATER = hour(13);

const upsert = (synced_at: string | null) => (): DecodedRow =>
  decoded(columns, column('c', synced_at, { name: 'shown' }))[0] as DecodedRow;
const tombstone = (deleted_at: string) => (): DecodedRow =>
  decoded(columns, column('c', null, { deleted_at }))[0] as DecodedRow;

const LIVE = { deleted_at: null, deletion: null };
const base = { id: 'c', asset_id: 'a', name: 'held', data_type: null, synced_at: HELD, extra: null };
const live: Row = { ...base, ...LIVE };
const timeless: Row = { ...live, synced_at: null };
const buried: Row = { ...base, deleted_at: GONE, deletion: 'tombstone' };
const away: Row = { ...base, deleted_at: GONE, deletion: 'absent' };

const FEED: TrustedUntil = null;
/** The read began more than the overlap after every change that the mirror knows of the row. */
const BELIEVED = hour(20);
/** The row changed within the overlap before the read began. */
const CHANGED_SINCE = hour(8);
/** The row changed long ago but was deleted within the overlap. */
const GONE_SINCE = BETWEEN;

/** The kind of the change, and which version wins. */
function outcome(change: RowChange | null): string {
  if (change === null) return 'stays';
  return `${change.kind}, ${change.row['name']}, ${change.row['deletion'] ?? 'live'}`;
}

const SHOWN = 'updated, shown, live';
const BACK = 'restored, shown, live';
const FOUND = 'restored, held, live';
const DEAD = 'tombstoned, shown, tombstone';

/**
 * The stored row, the returned row, and the outcome: from a feed, from a trusted scan, and from a scan that began
 * within the overlap of the row's own time, or of its deletion.
 */
const TABLE: [string, Row | undefined, string, () => DecodedRow, [string, string, string, string]][] = [
  ['nothing', undefined, 'any upsert', upsert(BEFORE), Array(4).fill('inserted, shown, live') as never],
  ['nothing', undefined, 'an upsert without a time', upsert(null), Array(4).fill('inserted, shown, live') as never],
  ['nothing', undefined, 'a tombstone', tombstone(GONE), Array(4).fill('tombstoned, c, tombstone') as never],

  ['a live row', live, 'an older upsert', upsert(BEFORE), ['stays', SHOWN, 'stays', SHOWN]],
  ['a live row', live, 'an equal upsert', upsert(HELD), [SHOWN, SHOWN, SHOWN, SHOWN]],
  ['a live row', live, 'a newer upsert', upsert(BETWEEN), [SHOWN, SHOWN, SHOWN, SHOWN]],
  ['a live row', live, 'an upsert without a time', upsert(null), ['stays', SHOWN, 'stays', SHOWN]],
  ['a live row', live, 'an older tombstone', tombstone(BEFORE), Array(4).fill('stays') as never],
  ['a live row', live, 'a tombstone of the same instant', tombstone(HELD), Array(4).fill('stays') as never],
  ['a live row', live, 'a newer tombstone', tombstone(GONE), Array(4).fill('deleted, held, tombstone') as never],

  ['a row without a time', timeless, 'any upsert', upsert(BEFORE), [SHOWN, SHOWN, SHOWN, SHOWN]],
  ['a row without a time', timeless, 'another without', upsert(null), [SHOWN, SHOWN, SHOWN, SHOWN]],
  [
    'a row without a time',
    timeless,
    'a tombstone',
    tombstone(BEFORE),
    Array(4).fill('deleted, held, tombstone') as never,
  ],

  ['a tombstoned row', buried, 'an upsert before its change', upsert(BEFORE), ['stays', BACK, 'stays', 'stays']],
  ['a tombstoned row', buried, 'an upsert before its deletion', upsert(BETWEEN), [DEAD, BACK, DEAD, DEAD]],
  ['a tombstoned row', buried, 'an upsert of the same instant', upsert(GONE), [DEAD, BACK, BACK, BACK]],
  ['a tombstoned row', buried, 'an upsert after its deletion', upsert(LATER), [BACK, BACK, BACK, BACK]],
  ['a tombstoned row', buried, 'an upsert without a time', upsert(null), ['stays', BACK, 'stays', 'stays']],
  ['a tombstoned row', buried, 'an older tombstone', tombstone(BETWEEN), Array(4).fill('stays') as never],
  ['a tombstoned row', buried, 'the same tombstone', tombstone(GONE), Array(4).fill('stays') as never],
  [
    'a tombstoned row',
    buried,
    'a newer tombstone',
    tombstone(LATER),
    Array(4).fill('tombstoned, held, tombstone') as never,
  ],

  ['an absent row', away, 'an upsert before its change', upsert(BEFORE), [FOUND, BACK, FOUND, BACK]],
  ['an absent row', away, 'an equal upsert', upsert(HELD), [BACK, BACK, BACK, BACK]],
  ['an absent row', away, 'an upsert before it was missed', upsert(BETWEEN), [BACK, BACK, BACK, BACK]],
  ['an absent row', away, 'a newer upsert', upsert(LATER), [BACK, BACK, BACK, BACK]],
  ['an absent row', away, 'an upsert without a time', upsert(null), [FOUND, BACK, FOUND, BACK]],
  ['an absent row', away, 'a tombstone before its change', tombstone(BEFORE), Array(4).fill('stays') as never],
  ['an absent row', away, 'a tombstone', tombstone(BETWEEN), Array(4).fill('tombstoned, held, tombstone') as never],
];

describe('newestWins (R10)', () => {
  describe.each(TABLE)('%s and %s', (_, existing, __, shown, expected) => {
    test.each([
      ['in a feed', FEED, expected[0]],
      ['in a scan that began long after both changes', BELIEVED, expected[1]],
      ['in a scan that began within the overlap of the row’s change', CHANGED_SINCE, expected[2]],
      ['in a scan that began within the overlap of the row’s deletion', GONE_SINCE, expected[3]],
    ])('the right one wins %s', (_by, floor, becomes) => {
      expect(outcome(newestWins(columns, existing, shown(), floor))).toBe(becomes);
    });
  });

  test('an unchanged row is not written again, by a feed or by a scan (R21)', () => {
    const same = decoded(columns, column('c', HELD, { name: 'held' }))[0] as DecodedRow;
    expect(newestWins(columns, live, same, FEED)).toBeNull();
    expect(newestWins(columns, live, same, BELIEVED)).toBeNull();
  });

  test('a scan replaces even a row with a newer time', () => {
    expect(newestWins(columns, live, upsert(BEFORE)(), BELIEVED)?.row).toMatchObject({
      name: 'shown',
      synced_at: BEFORE,
    });
  });

  test('a row known only from its tombstone has no time, so an older upsert still fills in its fields', () => {
    const [full] = decoded(columns, column('c', BETWEEN, { deleted_at: GONE })) as [DecodedRow];
    const tombstoneFields = newestWins(columns, undefined, full, FEED)?.row;
    expect(tombstoneFields).toMatchObject({ synced_at: null, deleted_at: GONE });
    expect(outcome(newestWins(columns, tombstoneFields, upsert(BEFORE)(), FEED))).toBe(DEAD);
  });

  test('a row that a finished read did not return is absent as of that read (R11)', () => {
    expect(absent(live, LATER)).toEqual({ row: { ...live, deleted_at: LATER, deletion: 'absent' }, kind: 'deleted' });
  });
});

describe('untrusted times (R10)', () => {
  const FUTURE = '2126-11-20T11:00:00.000000Z';

  test('an untrusted time of a stored row counts as missing: the next upsert or tombstone replaces the row', () => {
    const existing = withoutFuture({ ...live, synced_at: FUTURE }, LATER) as Row;
    expect(existing['synced_at']).toBeNull();
    expect(newestWins(columns, existing, upsert(HELD)(), FEED)).toMatchObject({
      kind: 'updated',
      row: { synced_at: HELD },
    });
    expect(newestWins(columns, existing, tombstone(GONE)(), FEED)).toMatchObject({ kind: 'deleted' });
  });

  test('a stored deletion with an untrusted time yields to the next upsert', () => {
    const existing = withoutFuture({ ...buried, deleted_at: FUTURE }, LATER);
    expect(newestWins(columns, existing, upsert(HELD)(), FEED)).toMatchObject({ kind: 'restored' });
  });

  test('a time more than an hour later than the server time is untrusted, unless that is unknown', () => {
    const row = (synced_at: string): Row => ({ ...live, synced_at });
    expect(withoutFuture(row(hour(14)), LATER)).toEqual(row(hour(14)));
    expect(withoutFuture(row('2026-11-20T14:00:00.000001Z'), LATER)?.['synced_at']).toBeNull();
    expect(withoutFuture(row(FUTURE), null)).toEqual(row(FUTURE));
  });

  test('extra keeps an untrusted time as sent, and of a row and a tombstone with one neither wins', () => {
    const page = (item: object) => decodePage(columns, [item], { newestReading: LATER }).rows[0] as DecodedRow;
    expect(page(column('c', '2126-11-20T11:00:00')).row).toMatchObject({
      synced_at: null,
      extra: '{"synced_at":"2126-11-20T11:00:00"}',
    });
    const gone = page(column('c', null, { deleted_at: FUTURE }));
    for (const existing of [live, undefined]) expect(newestWins(columns, existing, gone, FEED)).toBeNull();
    expect(isTie(live, gone)).toBe(true);
  });
});

describe('replayed feed pages', () => {
  const ids = ['x', 'y'] as const;
  const row = fc.oneof(
    // An object has one version per time, so equal times mean equal versions. Ties are looked up (R10).
    fc
      .record({ id: fc.constantFrom(...ids), at: fc.nat(6) })
      .map(({ id, at }) => column(id, hour(at), { name: `at ${at}` })),
    fc.constantFrom(...ids).map((id) => column(id, null, { name: 'at no time' })),
    fc
      .record({ id: fc.constantFrom(...ids), at: fc.nat(6), syncedAt: fc.option(fc.nat(6).map(hour)) })
      .map(({ id, at, syncedAt }) => column(id, syncedAt, { deleted_at: hour(at).replace(':00:', ':30:') })),
  );
  const pages = fc.array(fc.array(row, { maxLength: 4 }), { maxLength: 6 });

  /** The mirror's columns after these pages. */
  function mirrorOf(shown: readonly (readonly object[])[]): Record<string, Row> {
    const existing: Record<string, Row> = {};
    for (const item of shown.flat()) {
      const [sent] = decoded(columns, item) as [DecodedRow];
      const change = newestWins(columns, existing[String(sent.key[0])], sent, FEED);
      if (change !== null) existing[String(sent.key[0])] = change.row;
    }
    return existing;
  }

  test('feed pages give the same rows in any order and however often they are applied (R10)', () => {
    const orders = pages.chain((given) =>
      fc.tuple(
        fc.constant(given),
        fc.shuffledSubarray([...given, ...given, ...given], { minLength: given.length * 3 }),
      ),
    );
    fc.assert(
      fc.property(orders, ([given, replayed]) => {
        expect(mirrorOf(replayed)).toEqual(mirrorOf(given));
      }),
      { numRuns: 3000 },
    );
  });
});

describe('a row that two streams write', () => {
  const asset = (kind: string, more: object = {}): DecodedRow =>
    decoded(assets, { id: 'a', name: 'orders', kind, source_type: 'dbt', synced_at: LATER, ...more })[0] as DecodedRow;
  const typed = { db_name: 'prod', schema_name: 'core', bi_type: null, extra: '{"size":3}' };
  const existing = (): Row => ({ ...(newestWins(assets, undefined, asset('table'), FEED)?.row as Row), ...typed });

  test('the assets stream keeps what the typed stream wrote, `extra` included (R19)', () => {
    expect(newestWins(assets, existing(), asset('table', { colour: 'red' }), FEED)).toBeNull();
    expect(newestWins(assets, existing(), asset('table', { name: 'sales' }), FEED)?.row).toMatchObject({
      ...typed,
      name: 'sales',
    });
  });

  test.each(['bi', 'other', 'semantic'])('a change of kind to %s blanks the fields of the other kind (R22)', (kind) => {
    const blank = { db_name: null, schema_name: null, bi_type: null, extra: null };
    expect(newestWins(assets, existing(), asset(kind), FEED)?.row).toMatchObject({ ...blank, kind });
  });

  test('a row that keeps its kind loses fields that only another kind has (R22)', () => {
    const stray = { ...existing(), bi_type: 'dashboard' };
    expect(newestWins(assets, stray, asset('table'), FEED)).toEqual({ row: existing(), kind: 'updated' });
  });

  test('`extra` comes from the assets stream if the kind has no typed stream (R19)', () => {
    const change = newestWins(assets, existing(), asset('semantic', { colour: 'red' }), FEED);
    expect(change?.row['extra']).toBe('{"colour":"red"}');
  });

  test('an inserted asset has all columns, whatever its kind', () => {
    const written = Object.keys(newestWins(assets, undefined, asset('table'), FEED)?.row ?? {}).sort();
    expect(Object.keys(newestWins(assets, undefined, asset('semantic'), FEED)?.row ?? {}).sort()).toEqual(written);
    expect(written).toContain('bi_platform');
  });
});
