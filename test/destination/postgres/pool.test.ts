import { afterEach, beforeEach, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import { decodePage } from '../../../src/core/decode/decode.ts';
import type { Destination, PageCommit } from '../../../src/core/ports/destination.ts';
import type { StreamName } from '../../../src/core/stream.ts';
import type { Instant } from '../../../src/core/time/instant.ts';
import { createPostgresDestination } from '../../../src/destination/postgres/destination.ts';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import { openPool } from '../../../src/destination/postgres/pool.ts';
import type { PostgresDatabase } from '../../../src/destination/postgres/transaction.ts';
import { streamOf } from '../../core/setup.ts';
import { asset, column, START } from '../../support/conformance/workbench.ts';
import { type TestSchema, testSchema } from '../../support/postgres.ts';

let place: TestSchema;
let database: PostgresDatabase;
beforeEach(async () => {
  place = await testSchema();
  database = openPool({ client: { connectionString: place.serverUrl }, schema: place.schema, maxConnections: 4 });
  await database.session((connection) => migratePostgres(connection, place.schema));
});
afterEach(async () => {
  await database.close();
  await place.drop();
});

const waiting = { sleep: async () => undefined, random: () => 0 };

function on(envId = 'e', lease: { owner: string; epoch: number } | null = null): Destination {
  const clock = (): Instant => START;
  return createPostgresDestination(database, { ...waiting, envId, run: 1, clock, lease, errorOf: (error) => error });
}

function pageOf(name: StreamName, items: readonly object[]): PageCommit {
  const rows = decodePage(streamOf(name), items).rows;
  return { kind: 'page', checkpoint: NO_PROGRESS, changes: rows.map(({ row }) => ({ kind: 'inserted', row })) };
}

const show = (name: StreamName, items: readonly object[], destination = on()) =>
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
  const held = await on().existing(streamOf('assets'), [['a'], ['NULL']]);
  for (const { key, row } of decodePage(streamOf('assets'), sent).rows)
    expect(held.get(String(key[0]))).toMatchObject(row);
});

test('a commit of a process that has lost its environment fails and changes nothing (R26)', async () => {
  await show('assets', [asset('a')]);
  await place.ask("update mirror_environments set lease_owner = 'me', lease_epoch = 3");
  await show('assets', [asset('b')], on('e', { owner: 'me', epoch: 3 }));
  for (const lease of [
    { owner: 'me', epoch: 2 },
    { owner: 'you', epoch: 3 },
  ])
    await expect(show('assets', [asset('c')], on('e', lease))).rejects.toMatchObject({ recovery: 'locked' });
  expect(await place.ask('select id from assets order by id')).toEqual([{ id: 'a' }, { id: 'b' }]);
});
