import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { plan, status, sync, verify, writeReport } from '../../src/index.ts';
import { folder } from '../cli/setup.ts';
import { furnish } from '../model/furnish.ts';
import { createWorld, HOUR } from '../model/world.ts';
import { testSchema } from '../support/postgres.ts';
import { serveWorld } from '../support/world-server.ts';

/** Two environments behind a server, and where their mirrors will be: in PostgreSQL, and in a file. */
async function setUp() {
  const world = createWorld(['e1', 'e2']);
  for (const place of world.places.values()) furnish(place);
  const server = await serveWorld(world);
  const schema = await testSchema();
  onTestFinished(async () => {
    await server.close();
    await schema.drop();
  });
  const service = { baseUrl: server.url, token: 'the-token' };
  const cwd = folder();
  return {
    world,
    schema,
    inPostgres: { ...service, db: schema.url },
    inFile: { ...service, db: join(cwd, 'm.db') },
    cwd,
  };
}

describe('a mirror in PostgreSQL', () => {
  test('is synced, forecast, compared and reported as one in a file', async () => {
    const { world, schema, inPostgres, inFile, cwd } = await setUp();
    for (const options of [inPostgres, inFile])
      expect(await sync(options)).toMatchObject({ status: 'done', error: null, recovery: null });
    world.advance(3 * HOUR);
    const [foretold, ofFile] = [await plan(inPostgres), await plan(inFile)];
    expect(foretold).toEqual(ofFile);
    expect(await verify(inPostgres)).toMatchObject({ equal: true, depth: 'rows' });
    expect(await sync(inPostgres)).toMatchObject({ status: 'done', requests: foretold.requests });
    await sync(inFile);
    const { db, checked_at, last_run, ...shown } = await status(inPostgres);
    const ofMirrorFile = await status(inFile);
    expect(shown.environments.map(({ streams }) => streams.map(({ stream, rows }) => [stream, rows]))).toEqual(
      ofMirrorFile.environments.map(({ streams }) => streams.map(({ stream, rows }) => [stream, rows])),
    );
    expect(last_run).toMatchObject({ status: 'done' });
    expect(db).toContain(`schema=${schema.schema}`);
    const report = await writeReport({ ...inPostgres, to: join(cwd, 'report.html') });
    expect(report.environments).toHaveLength(2);
  });
});
