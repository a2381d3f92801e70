import { describe, expect, test } from 'vitest';
import { changeMarks } from '../../../src/core/decide/marks.ts';
import type { RowChange } from '../../../src/core/decide/newest-wins.ts';
import type { Row, StreamName } from '../../../src/core/stream.ts';
import { streamOf, T, YESTERDAY } from '../setup.ts';

const marked = (name: StreamName, row: Row, kind: RowChange['kind'], grantedBefore: string | null = null): string[] =>
  changeMarks(streamOf(name), { row, kind }, grantedBefore).map((mark) => `${mark.stream} ${mark.id}`);

const asset = (kind: string, synced_at: string | null = T): Row => ({ id: 'a', kind, synced_at });

describe('a column', () => {
  test.each(['inserted', 'updated', 'restored'] as const)('that is %s marks itself for its lineage (R18)', (was) => {
    expect(marked('columns', { id: 'c' }, was)).toEqual(['column_lineage c']);
  });

  test.each(['deleted', 'tombstoned'] as const)('that is %s has no lineage to read (R18)', (was) => {
    expect(marked('columns', { id: 'c' }, was)).toEqual([]);
  });
});

describe('an asset', () => {
  test.each([
    ['table', 'table_assets'],
    ['bi', 'bi_assets'],
  ])('of kind %s marks itself for %s when it is shown (R22)', (kind, stream) => {
    expect(marked('assets', asset(kind), 'inserted')).toEqual([`${stream} a`]);
    expect(marked('assets', asset(kind), 'updated')).toEqual([`${stream} a`]);
  });

  test('of any other kind makes no mark for a typed stream (R19, R22)', () => {
    expect(marked('assets', asset('dream'), 'updated')).toEqual([]);
  });

  test('that went or came back marks itself for columns and tests (R13)', () => {
    expect(marked('assets', asset('semantic'), 'deleted')).toEqual(['columns a', 'tests a']);
    expect(marked('assets', asset('table'), 'restored')).toEqual(['table_assets a', 'columns a', 'tests a']);
  });

  test('that stays deleted makes no further mark (R22)', () => {
    expect(marked('assets', asset('table'), 'tombstoned')).toEqual([]);
  });

  test.each<[string, RowChange['kind'], string | null, string[]]>([
    ['inserted though older than the feeds reach has become visible', 'inserted', YESTERDAY, ['columns a', 'tests a']],
    ['inserted without a time has, too', 'inserted', null, ['columns a', 'tests a']],
    ['inserted with a newer time is new', 'inserted', T, []],
    ['updated was visible before', 'updated', YESTERDAY, []],
  ])('%s (R13)', (_, was, syncedAt, expected) => {
    expect(marked('assets', asset('semantic', syncedAt), was, T)).toEqual(expected);
  });

  test('that a first scan or a feed finds is new, and has not become visible', () => {
    expect(marked('assets', asset('semantic', YESTERDAY), 'inserted', null)).toEqual([]);
  });
});
