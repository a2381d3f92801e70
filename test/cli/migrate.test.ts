import { expect, onTestFinished, test } from 'vitest';
import { status, sync, verify } from '../../src/index.ts';
import { databaseWithCitus } from '../support/citus/database.ts';
import { temporarySchema } from '../support/postgres.ts';
import { servedWorld } from '../support/served-world.ts';
import { folder, obsync, refusal } from './setup.ts';

test('migrate creates a mirror in a file or in PostgreSQL, says so, and changes nothing the second time', async () => {
  const { url } = await temporarySchema();
  const cwd = folder();
  for (const [env, shown] of [
    [{ OBSYNC_DB: 'mirror.db' }, /^mirror\.db/],
    [{ OBSYNC_DB: url }, /^postgres:\S+/],
  ] as const) {
    const [made, again] = [await obsync(['migrate'], { cwd, env }), await obsync(['migrate', '--json'], { cwd, env })];
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(shown), stderr: '' });
    expect(made.stdout).toContain('was created; the first sync fills it.');
    expect(JSON.parse(again.stdout)).toMatchObject({ change: 'none', citus: null });
    expect(made.stdout + again.stdout).not.toContain(decodeURIComponent(new URL(url).password));
  }
});

test('migrate --citus says in one line if Citus is missing or the mirror is a file, and creates nothing', async () => {
  const { url, ask, schema } = await temporarySchema();
  expect(await obsync(['migrate', '--citus'], { env: { OBSYNC_DB: url } })).toEqual(
    refusal(/Citus is not installed in this database: run `create extension citus`/),
  );
  expect(await ask(`select 1 from pg_namespace where nspname = '${schema}'`)).toEqual([]);
  expect(await obsync(['migrate', '--citus', '--db', 'mirror.db'])).toEqual(
    refusal(/--citus needs a mirror in PostgreSQL, and mirror\.db is a file/),
  );
});

test('migrate --citus distributes the tables of a new mirror once, and sync, verify and status work as usual', async () => {
  const { url, drop } = await databaseWithCitus();
  onTestFinished(drop);
  const env = { OBSYNC_DB: url };
  const first = await obsync(['migrate', '--citus'], { env });
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toMatch(
    /was created; .*\d+ tables are now distributed by env_id: mirror_environments, .*\bassets\b/s,
  );
  expect(first.stdout).toMatch(
    /On the coordinator: environments, lease_owners, mirror, sync_runs,\s+sync_stream_runs, verifications\./,
  );
  const again = JSON.parse((await obsync(['migrate', '--citus', '--json'], { env })).stdout);
  expect(again).toMatchObject({ change: 'none', citus: { distributed_now: [] } });
  const { server } = await servedWorld(['e1', 'e2', 'e3']);
  const options = { baseUrl: server.url, token: 'the-token', db: url };
  expect(await sync(options)).toMatchObject({ status: 'done', error: null });
  expect(await verify(options)).toMatchObject({ equal: true });
  expect((await status({ db: url })).environments).toHaveLength(3);
});
