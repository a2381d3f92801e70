import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { requestEnvironments, runOnce } from '../../src/api/session.ts';
import { verify } from '../../src/index.ts';
import { syncSettings, watchOf } from '../../src/settings/sync-settings.ts';
import { putAsset, putAssetEdge } from '../model/environment.ts';
import { furnish } from '../model/furnish.ts';
import { createWorld, HOUR, type World } from '../model/world.ts';
import { startApiServer } from '../support/api-server.ts';
import { temporarySchema } from '../support/postgres.ts';
import { serveWorld } from '../support/world-server.ts';

/** Serves a world, and picks a schema for its mirror. */
async function setUp(world: World) {
  const server = await serveWorld(world);
  const schema = await temporarySchema();
  onTestFinished(() => server.close());
  const mirror = { baseUrl: server.url, token: 'the-token', db: schema.url };
  return { mirror, ask: schema.ask, sync: () => runOnce(syncSettings(mirror), watchOf({})) };
}

test('every run changes or rejects what PostgreSQL cannot store, and a verification finds nothing else (R20)', async () => {
  const world = createWorld(['e1']);
  const place = world.environment();
  furnish(place);
  putAsset(place, 'a4', { name: 'x\0y' });
  const long = 'k'.repeat(3000);
  putAsset(place, long, {});
  const { mirror, ask, sync } = await setUp(world);
  for (const _ of [1, 2]) {
    expect(await sync()).toMatchObject({ status: 'problems', error: null });
    world.advance(3 * HOUR);
    expect(await ask("select name, extra from assets where id = 'a4'")).toEqual([{ name: 'x\uFFFDy', extra: null }]);
    const rejected = await ask('select stream, reason, row_key = payload as is_keyless from rejected_rows order by 1');
    const reason = 'the key is longer than 1000 bytes';
    expect(rejected).toEqual(['assets', 'table_assets'].map((stream) => ({ stream, reason, is_keyless: 't' })));
  }
  const { findings } = await verify(mirror);
  expect(findings.map(({ stream, what, why }) => [stream, what, why])).toEqual(
    ['assets', 'table_assets'].map((stream) => [stream, 'missing', 'rejected: the key is longer than 1000 bytes']),
  );
});

test('a verification also finds what was changed in the database without obsync', async () => {
  const world = createWorld(['e1']);
  furnish(world.environment());
  const { mirror, ask, sync } = await setUp(world);
  await sync();
  world.advance(3 * HOUR);
  await sync();
  expect((await verify(mirror)).equal).toBe(true);
  await ask("delete from columns where id = 'a1.c1'");
  await ask("update assets set name = 'x' where id = 'a1'");
  const found = (await verify(mirror)).findings.map(({ stream, what }) => `${stream} ${what}`);
  expect(found.sort()).toEqual(['assets unequal', 'columns missing']);
});

test('environments are listed as PostgreSQL stores them, for schedules and workers too (R20)', async () => {
  const api = await startApiServer({
    body: [
      { id: 'e1', name: 'x\0y', cron: '@daily\0' },
      { id: 'k'.repeat(1001), name: 'k' },
    ],
  });
  onTestFinished(() => api.close());
  const { mirror } = await setUp(createWorld(['e1']));
  const { listed } = await requestEnvironments(syncSettings({ ...mirror, baseUrl: api.url }), watchOf({}));
  expect(listed).toEqual([{ id: 'e1', name: 'x\uFFFDy', cron: '@daily\uFFFD' }]);
});

test('keys of 1,000 bytes are stored in PostgreSQL unless an index entry with the environment would exceed 2,600 bytes (R20)', async () => {
  // PostgreSQL would compress repeated letters.
  const longId = (bytes: number) => randomBytes(bytes).toString('hex').slice(0, bytes);
  const environments = ['e1', longId(700)];
  const [one = '', other = ''] = [longId(1000), longId(1000)];
  const world = createWorld(environments);
  for (const place of world.environments.values()) {
    for (const id of [one, other]) putAsset(place, id);
    putAssetEdge(place, one, other);
  }
  const { ask, sync } = await setUp(world);
  await sync();
  expect(await ask('select distinct env_id from assets where length(id) = 1000')).toHaveLength(2);
  expect(await ask('select env_id from asset_lineage')).toEqual([{ env_id: 'e1' }]);
  expect(await ask('select env_id, stream, reason from rejected_rows')).toEqual([
    { env_id: environments[1], stream: 'asset_lineage', reason: 'the key is longer than 1900 bytes' },
  ]);
});
