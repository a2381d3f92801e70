import { describe, expect, test } from 'vitest';
import { asDeletion, changeMarks } from '../../../src/core/decide/marks.ts';
import type { RowChange } from '../../../src/core/decide/newest-wins.ts';
import type { Row, StreamName } from '../../../src/core/stream.ts';
import { streamOf, T, YESTERDAY } from '../setup.ts';

const marked = (name: StreamName, row: Row, kind: RowChange['kind'], grantedBefore: string | null = null): string[] =>
  changeMarks(streamOf(name), { row, kind }, grantedBefore).map((mark) => `${mark.stream} ${mark.id}`);

const asset = (kind: string, synced_at: string | null = T): Row => ({ id: 'a', kind, synced_at });

describe('the marks of a change to a column', () => {
  test.each(['inserted', 'updated', 'restored'] as const)(
    'a column that is %s is marked for its lineage (R18)',
    (was) => {
      expect(marked('columns', { id: 'c' }, was)).toEqual(['column_lineage c']);
    },
  );

  test.each(['deleted', 'tombstoned'] as const)(
    'a column that is %s is not marked, because its lineage is gone (R18)',
    (was) => {
      expect(marked('columns', { id: 'c' }, was)).toEqual([]);
    },
  );
});

describe('the marks of a change to an asset', () => {
  test.each([
    ['table', 'table_assets'],
    ['bi', 'bi_assets'],
  ])('an inserted or updated asset of kind %s is marked for %s (R22)', (kind, stream) => {
    expect(marked('assets', asset(kind), 'inserted')).toEqual([`${stream} a`]);
    expect(marked('assets', asset(kind), 'updated')).toEqual([`${stream} a`]);
  });

  test('an asset of any other kind is not marked for a typed stream (R19, R22)', () => {
    expect(marked('assets', asset('dream'), 'updated')).toEqual([]);
  });

  test('a deleted or restored asset is marked for its columns and tests (R13)', () => {
    expect(marked('assets', asset('semantic'), 'deleted')).toEqual(['columns a', 'tests a']);
    expect(marked('assets', asset('table'), 'restored')).toEqual(['table_assets a', 'columns a', 'tests a']);
  });

  test('an asset that stays deleted is not marked again (R22)', () => {
    expect(marked('assets', asset('table'), 'tombstoned')).toEqual([]);
  });

  test('a tombstone counts as a deletion if it is the first one or newer than the stored one, as the asset was live before it (R13)', () => {
    const change: RowChange = { row: { ...asset('table'), deleted_at: T, deletion: 'tombstone' }, kind: 'tombstoned' };
    const kindFor = (existing: Row | undefined): string => asDeletion(change, existing).kind;
    expect(kindFor(undefined)).toBe('deleted');
    expect(kindFor({ ...change.row, deleted_at: YESTERDAY })).toBe('deleted');
    expect(kindFor({ ...change.row, name: 'other' })).toBe('tombstoned');
    expect(asDeletion({ ...change, kind: 'restored' }, undefined).kind).toBe('restored');
  });

  test.each<[string, RowChange['kind'], string | null, string[]]>([
    [
      'is inserted although older than the last round has become visible: it is marked',
      'inserted',
      YESTERDAY,
      ['columns a', 'tests a'],
    ],
    ['is inserted without a time has become visible: it is marked', 'inserted', null, ['columns a', 'tests a']],
    ['is inserted with a newer time is new: it is not marked', 'inserted', T, []],
    ['is updated was visible before: it is not marked', 'updated', YESTERDAY, []],
  ])('an asset that %s (R13)', (_, was, syncedAt, expected) => {
    expect(marked('assets', asset('semantic', syncedAt), was, T)).toEqual(expected);
  });

  test('an asset found by a first scan or a feed is new, so its children are not looked up', () => {
    expect(marked('assets', asset('semantic', YESTERDAY), 'inserted', null)).toEqual([]);
  });
});
