import { beforeEach, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import { decodePage } from '../../../src/core/decode/decode.ts';
import type { PageCommit } from '../../../src/core/ports/destination.ts';
import type { StreamName } from '../../../src/core/stream.ts';
import type { PostgresDatabase } from '../../../src/destination/postgres/transaction.ts';
import { streamOf } from '../../core/setup.ts';
import { asset, column } from '../../support/conformance/workbench.ts';
import type { TestSchema } from '../../support/postgres.ts';
import { destinationOf, migratedMirror } from './setup.ts';

let place: TestSchema;
let database: PostgresDatabase;
beforeEach(async () => {
  ({ place, database } = await migratedMirror());
});

function pageOf(name: StreamName, items: readonly object[]): PageCommit {
  const rows = decodePage(streamOf(name), items).rows;
  return { kind: 'page', checkpoint: NO_PROGRESS, changes: rows.map(({ row }) => ({ kind: 'inserted', row })) };
}

const show = (name: StreamName, items: readonly object[], destination = destinationOf(database)) =>
  destination.commit(streamOf(name), pageOf(name, items), new Set());

test('two streams of an environment commit concurrently, and no two commits have the same time (R21)', async () => {
  const pages = Array.from({ length: 10 }, (_, i) => i);
  await Promise.all([
    ...pages.map((i) => show('assets', [asset(`a${i}`), asset(`b${i}`)])),
    ...pages.map((i) => show('columns', [column(`c${i}`)])),
  ]);
  const times = await place.ask(`select mirrored_at, count(*) from (
    select mirrored_at from assets union all select mirrored_at from columns) t group by 1`);
  expect(times).toHaveLength(20);
});

test('quotes, backslashes, braces and NULL in texts survive a round trip to the server', async () => {
  const tags = ['x', { y: 'a "quoted" \\ text' }];
  const sent = [asset('a', { description: 'a "quoted" \\ text, {with} NULL', tags }), asset('NULL')];
  await show('assets', sent);
  const held = await destinationOf(database).existing(streamOf('assets'), [['a'], ['NULL']]);
  for (const { key, row } of decodePage(streamOf('assets'), sent).rows)
    expect(held.get(String(key[0]))).toMatchObject(row);
});

test('a commit of a process that has lost its environment fails and changes nothing (R26)', async () => {
  await show('assets', [asset('a')]);
  await place.ask("update mirror_environments set lease_owner = 'me', lease_epoch = 3");
  await show('assets', [asset('b')], destinationOf(database, { lease: { owner: 'me', epoch: 3 } }));
  for (const lease of [
    { owner: 'me', epoch: 2 },
    { owner: 'you', epoch: 3 },
  ])
    await expect(show('assets', [asset('c')], destinationOf(database, { lease }))).rejects.toMatchObject({
      recovery: 'locked',
    });
  expect(await place.ask('select id from assets order by id')).toEqual([{ id: 'a' }, { id: 'b' }]);
});
