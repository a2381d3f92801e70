import { describe, expect, test } from 'vitest';
import { reconcile } from '../../../src/core/schedule/environments.ts';
import type { Row } from '../../../src/core/stream.ts';
import { T, YESTERDAY } from '../setup.ts';

const row = (id: string, more: Row = {}): Row => ({
  id,
  name: `Env ${id}`,
  cron: null,
  last_sync_status: null,
  last_synced_at: null,
  warehouse_type: null,
  missing_since: null,
  extra: null,
  ...more,
});
const item = (id: string, more: object = {}): object => ({ id, name: `Env ${id}`, ...more });
const seen = (id: string) => ({ id, name: `Env ${id}`, cron: null });

describe('the listed environments against those of the mirror', () => {
  test('a new environment is listed and written', () => {
    const known = { cron: '0 * * * *', last_sync_status: 'SUCCESS', warehouse_type: 'snowflake' };
    const more = { ...known, last_synced_at: '2026-11-20T04:00:00', region: 'eu' };
    const { listed, changed } = reconcile([item('a', more)], [], T);
    expect(listed).toEqual([{ ...seen('a'), cron: '0 * * * *' }]);
    const kept = { ...known, last_synced_at: '2026-11-20T04:00:00.000000Z', extra: '{"region":"eu"}' };
    expect(changed).toEqual([row('a', kept)]);
  });

  test('an unchanged environment is not written again (R21)', () => {
    expect(reconcile([item('a')], [row('a')], T)).toMatchObject({ listed: [seen('a')], changed: [], returned: [] });
    expect(reconcile([item('a', { name: 'B' })], [row('a')], T).changed).toEqual([row('a', { name: 'B' })]);
  });

  test('an environment that is no longer listed keeps its row and is missing from now on', () => {
    const { listed, changed, missing } = reconcile([], [row('a')], T);
    expect([listed, changed, missing]).toEqual([[], [row('a', { missing_since: T })], [seen('a')]]);
  });

  test('an environment that is still missing keeps its missing_since and is reported again', () => {
    const { changed, missing } = reconcile([], [row('a', { missing_since: YESTERDAY })], T);
    expect([changed, missing]).toEqual([[], [seen('a')]]);
  });

  test('an environment that is listed again is reported as returned (R13)', () => {
    const { changed, returned, missing } = reconcile(
      [item('a')],
      [row('a', { missing_since: YESTERDAY }), row('b')],
      T,
    );
    expect(returned).toEqual(['a']);
    expect(changed).toEqual([row('a'), row('b', { missing_since: T })]);
    expect(missing).toEqual([seen('b')]);
  });

  test('a rejected environment counts as listed, not as missing (R20)', () => {
    const { listed, changed, missing, rejected } = reconcile([{ id: 'a' }, item('b'), 7], [row('a')], T);
    expect([listed, changed, missing]).toEqual([[seen('b')], [row('b')], []]);
    expect(rejected.map(({ rowKey, reason }) => [rowKey, reason])).toEqual([
      ['a', 'name is missing'],
      ['7', 'not an object'],
    ]);
  });

  test('an environment listed twice is read once, as it was listed last', () => {
    const { listed, changed } = reconcile([item('a'), item('b'), item('a', { name: 'B' })], [], T);
    expect(listed.map((environment) => environment.name)).toEqual(['B', 'Env b']);
    expect(changed).toHaveLength(2);
  });
});
