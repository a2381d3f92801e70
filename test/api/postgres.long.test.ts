import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { plan, status, sync, verify, writeReport } from '../../src/index.ts';
import { folder } from '../cli/setup.ts';
import { HOUR } from '../model/world.ts';
import { temporarySchema } from '../support/postgres.ts';
import { servedWorld } from '../support/served-world.ts';

/** Serves two environments, and picks the places of their mirrors in PostgreSQL and in a file. */
async function setUp() {
  const { world, server } = await servedWorld(['e1', 'e2']);
  const schema = await temporarySchema();
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
  test('sync, plan, verify and status work as for a mirror in a file', async () => {
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

  test('a damaged mirror is repaired, and the report counts every difference as repaired', async () => {
    const { world, schema, inPostgres } = await setUp();
    world.advance(3 * HOUR);
    expect(await sync(inPostgres)).toMatchObject({ status: 'done' });
    await schema.ask(`update columns set name = 'wrong' where env_id = 'e1' and id = 'a1.c1';
      delete from tests where env_id = 'e1' and id = 't1';
      insert into columns (env_id, id, asset_id, name, mirrored_at) values ('e1', 'extra', 'a1', 'extra', now());
      delete from asset_lineage where env_id = 'e1' and downstream_asset_id = 'a2';
      delete from column_lineage where env_id = 'e1' and downstream_column_id = 'a2.c2';
      update assets set db_name = 'wrong' where env_id = 'e1' and id = 'a1';
      update asset_health_scores set score = 0.125 where env_id = 'e1' and asset_id = 'a1';
      delete from asset_health_score_dimensions where env_id = 'e1' and dimension = 'validity'`);
    const report = await verify({ ...inPostgres, repair: true });
    expect(report.findings.map(({ stream, what, repaired }) => [stream, what, repaired]).sort()).toEqual([
      ['asset_health_scores', 'unequal', true],
      ['asset_health_scores', 'unequal', true],
      ['asset_lineage', 'missing', true],
      ['column_lineage', 'missing', true],
      ['columns', 'extra', true],
      ['columns', 'unequal', true],
      ['table_assets', 'unequal', true],
      ['tests', 'missing', true],
    ]);
    expect(report).toMatchObject({ equal: true, repair: { not_repaired: [] } });
    expect(await verify(inPostgres)).toMatchObject({ equal: true, findings: [] });
  });

  test('a full disk ends a run with problems even if its end cannot be recorded, and the next run continues', async () => {
    const { schema, inPostgres } = await setUp();
    expect(await sync({ ...inPostgres, env: ['e1'] })).toMatchObject({ status: 'done' });
    await schema.ask(`create function fail() returns trigger language plpgsql as
      $$ begin raise 'could not extend file' using errcode = '53100'; end $$;
      create trigger fail before insert on columns for each row execute function fail();
      create trigger fail before update on sync_runs for each row when (new.ended_at is not null) execute function fail()`);
    const failed = await sync(inPostgres);
    expect(failed).toMatchObject({ run: 2, status: 'problems', recovery: 'run' });
    expect(failed.error).toMatch(/has no room left on its disk: make room and run again; nothing is lost$/);
    expect(failed.streams).toContainEqual(expect.objectContaining({ stream: 'columns', status: 'stopped' }));
    await schema.ask('drop function fail cascade');
    expect(await sync(inPostgres)).toMatchObject({ status: 'done', error: null });
    expect(await verify(inPostgres)).toMatchObject({ equal: true });
  });
});
