import { expect, onTestFinished, test } from 'vitest';
import { sync, verify } from '../../src/index.ts';
import { furnish } from '../model/furnish.ts';
import { createPlace, putAsset } from '../model/place.ts';
import { createWorld, HOUR } from '../model/world.ts';
import { testSchema } from '../support/postgres.ts';
import { serveWorld } from '../support/world-server.ts';

test('what PostgreSQL cannot hold is changed or rejected in every run, and a verification finds nothing else (R20)', async () => {
  const world = createWorld(['e1']);
  const place = world.places.get('e1') ?? createPlace('e1', () => '');
  furnish(place);
  putAsset(place, 'a4', { name: 'x\0y' });
  const long = 'k'.repeat(3000);
  putAsset(place, long, {});
  const server = await serveWorld(world);
  const schema = await testSchema();
  onTestFinished(async () => {
    await server.close();
    await schema.drop();
  });
  const mirror = { baseUrl: server.url, token: 'the-token', db: schema.url };
  for (const _ of [1, 2]) {
    expect(await sync(mirror)).toMatchObject({ status: 'problems', error: null });
    world.advance(3 * HOUR);
    expect(await schema.ask("select name, extra from assets where id = 'a4'")).toEqual([
      { name: 'x\uFFFDy', extra: '{"name":"x\\u0000y"}' },
    ]);
    const rejected = await schema.ask(
      'select stream, reason, row_key = payload as is_keyless from rejected_rows order by 1',
    );
    const reason = 'the key is longer than 1000 bytes';
    expect(rejected).toEqual(['assets', 'table_assets'].map((stream) => ({ stream, reason, is_keyless: 't' })));
  }
  const { findings } = await verify(mirror);
  expect(findings.map(({ stream, what, why }) => [stream, what, why])).toEqual(
    ['assets', 'table_assets'].map((stream) => [stream, 'missing', 'rejected: the key is longer than 1000 bytes']),
  );
});
