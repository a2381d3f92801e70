import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copy, exportMirror } from '../../src/index.ts';
import { furnish } from '../model/furnish.ts';
import { createWorld } from '../model/world.ts';
import { damageTable } from '../support/damage-table.ts';
import { allRows } from '../support/filled-mirror.ts';
import { type TestSchema, testSchema } from '../support/postgres.ts';
import { serveWorld } from '../support/world-server.ts';
import { SERVE_TOKEN, serving } from './serving.ts';
import { folder, obsync, refusal, start, TOKEN } from './setup.ts';

let service: Awaited<ReturnType<typeof serveWorld>>;
let schema: TestSchema;

beforeAll(async () => {
  const world = createWorld(['e1', 'e2']);
  for (const place of world.environments.values()) furnish(place);
  service = await serveWorld(world);
  schema = await testSchema();
  expect(await sync()).toMatchObject({ code: 0 });
});
afterAll(async () => {
  await service.close();
  await schema.drop();
});

const sync = (...args: string[]) =>
  obsync(['sync', '--base-url', service.url, ...args], { env: { OBSYNC_TOKEN: TOKEN, OBSYNC_DB: schema.url } });

/** A commit that gives the asset another name. */
const rename = (name: string) =>
  schema.ask(`begin; update mirror_environments set mirrored_at = mirrored_at + interval '1 s' where env_id = 'e1';
    update assets set name = '${name}', mirrored_at = (select mirrored_at from mirror_environments where env_id = 'e1')
      where env_id = 'e1' and id = 'a1'; commit`);

/** Asks until the answer is this one; a test that never gets it ends with its time limit. */
async function until<Answer>(expected: Answer, ask: () => Promise<Answer> | Answer): Promise<void> {
  while (JSON.stringify(await ask()) !== JSON.stringify(expected)) await setTimeout(50);
}

/** The name of the asset in a replica; null while there is none. */
function nameIn(cwd: string): unknown {
  if (!existsSync(join(cwd, 'replica.db'))) return null;
  const connection = new Sqlite(join(cwd, 'replica.db'), { readonly: true });
  const found = connection.prepare("select name from assets where env_id = 'e1' and id = 'a1'").pluck().get();
  connection.close();
  return found;
}

function rowsOf(path: string): Record<string, unknown[]> {
  const connection = new Sqlite(path, { readonly: true });
  const rows = allRows(connection);
  connection.close();
  return rows;
}

describe('obsync serve of a mirror in PostgreSQL', () => {
  test('every server answers from a replica that follows the mirror, and /healthz reports how far it is behind', async () => {
    const env = { OBSYNC_SERVE_TOKEN: SERVE_TOKEN, OBSYNC_DB: schema.url };
    const args = ['--rate-limit', 'off'];
    const servers = await Promise.all([serving(args, { env }), serving([...args, '--replica', 'own.db'], { env })]);
    for (const name of ['first', 'second']) {
      await rename(name);
      for (const server of servers)
        await until(name, async () => (await server.get('/public/beta/e1/assets/a1')).body.name);
    }
    for (const server of servers) {
      const { body } = await server.get('/healthz', null);
      expect(body).toMatchObject({ status: 'up', replica_lag_seconds: expect.any(Number) });
      expect(server.stderr()).toContain(`schema=${schema.schema} from its replica`);
      expect(server.stderr()).not.toContain('password');
    }
    expect(await sync('--full')).toMatchObject({ code: 0 });
    for (const server of servers)
      await until('a1', async () => (await server.get('/public/beta/e1/assets/a1')).body.name);
  });

  test('a server whose connection is lost answers from the replica as it was, and follows again', async () => {
    const server = await serving(['--rate-limit', 'off'], {
      env: { OBSYNC_SERVE_TOKEN: SERVE_TOKEN, OBSYNC_DB: `${schema.url}&application_name=${schema.schema}` },
    });
    await schema.ask(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${schema.schema}'`,
    );
    await server.logged('the replica stays as it is');
    expect((await server.get('/public/beta/e1/assets/a1')).status).toBe(200);
    await server.logged('the replica follows the mirror again');
  });
});

describe('obsync copy --follow', () => {
  test('keeps a file equal to the mirror until it is stopped, and no sync writes to that file', async () => {
    const cwd = folder();
    const env = { OBSYNC_DB: schema.url };
    const following = start(['copy', '--follow', '--to', 'replica.db', '--log-level', 'info'], { cwd, env });
    await following.logged('refreshed');
    await rename('followed');
    await until('followed', () => nameIn(cwd));
    following.kill('SIGTERM');
    expect(await following.ended).toMatchObject({ code: 143, stdout: '' });
    const ended = await obsync(['sync', '--base-url', service.url, '--db', 'replica.db'], {
      cwd,
      env: { OBSYNC_TOKEN: TOKEN },
    });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('replica.db is a replica') });
  });

  test('a process that is killed while it writes leaves a replica that the next one completes', async () => {
    const cwd = folder();
    const env = { OBSYNC_DB: schema.url };
    for (const after of ['', 'refreshed', '']) {
      const following = start(['copy', '--follow', '--to', 'replica.db', '--log-level', 'info'], { cwd, env });
      if (after !== '') await following.logged(after);
      await rename('killed');
      following.kill('SIGKILL');
      await following.ended;
    }
    const following = start(['copy', '--follow', '--to', 'replica.db', '--log-level', 'info'], { cwd, env });
    await rename('completed');
    await until('completed', () => nameIn(cwd));
    following.kill('SIGTERM');
    await following.ended;
    await copy({ db: schema.url, to: join(cwd, 'copy.db') });
    expect(rowsOf(join(cwd, 'replica.db'))).toEqual(rowsOf(join(cwd, 'copy.db')));
  });

  test('refuses a mirror in a file, and creates nothing', async () => {
    const cwd = folder();
    const ended = await obsync(['copy', '--follow', '--db', 'm.db', '--to', 'replica.db'], { cwd });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('m.db is a file, which needs no replica') });
    expect(existsSync(join(cwd, 'replica.db'))).toBe(false);
  });
});

test('a file or folder that cannot be used is refused with advice for a replica', async () => {
  const [cwd, env] = [folder(), { OBSYNC_DB: schema.url }];
  writeFileSync(join(cwd, 'mine.txt'), 'a text of mine');
  expect(await obsync(['copy', '--follow', '--to', 'mine.txt'], { cwd, env })).toEqual(
    refusal(/mine\.txt is not a replica: remove it, or name another file for the replica$/m),
  );
  expect(await obsync(['report', '--to', 'page.html', '--replica', 'nowhere/r.db'], { cwd, env })).toEqual(
    refusal(/nowhere does not exist: make the folder, or name another file for the replica$/m),
  );
});

test('an address instead of the file of a replica is refused, and its password is not printed', async () => {
  const address = 'postgres://ann:zX9@h/q?sslmode=disable';
  const env = { OBSYNC_DB: schema.url };
  const ended = [
    await obsync(['copy', '--follow'], { env: { ...env, OBSYNC_TO: address } }),
    await obsync(['report', '--to', 'page.html', '--replica', address], { env }),
  ];
  for (const each of ended) {
    expect(each).toEqual(refusal(/a replica is a file, not a database: name a file, such as replica\.db/));
    expect(each.stderr).not.toContain('zX9');
  }
});

test('a report that finds its replica damaged says to run it again, which makes the replica again', async () => {
  const cwd = folder();
  const report = () =>
    obsync(['report', '--to', 'page.html', '--replica', 'replica.db'], { cwd, env: { OBSYNC_DB: schema.url } });
  expect(await report()).toMatchObject({ code: 0 });
  damageTable(join(cwd, 'replica.db'), 'assets');
  expect(await report()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('replica.db, the replica of the mirror, was damaged: run again'),
  });
  expect(await report()).toMatchObject({ code: 0 });
});

test('exports through a replica that was refreshed have the same bytes as one of a new copy', async () => {
  const cwd = folder();
  const [replica, fresh] = [join(cwd, 'replica.db'), join(cwd, 'copy.db')];
  const wanted = { format: 'csv', views: true, keep: 1 } as const;
  for (const name of ['first', 'second']) {
    await rename(name);
    await exportMirror({ ...wanted, db: schema.url, replica, to: join(cwd, 'of-replica') });
  }
  await copy({ db: schema.url, to: fresh });
  await exportMirror({ ...wanted, db: fresh, to: join(cwd, 'of-copy') });
  expect(dataOf(join(cwd, 'of-replica'))).toEqual(dataOf(join(cwd, 'of-copy')));
});

test('verify --against compares an export through the replica that --replica names', async () => {
  const cwd = folder();
  const env = { OBSYNC_DB: schema.url };
  expect(await obsync(['export', '--to', 'out'], { cwd, env })).toMatchObject({ code: 0 });
  const compared = await obsync(['verify', '--against', 'out', '--replica', 'own.db'], { cwd, env });
  expect(compared).toMatchObject({ code: 0, stdout: expect.stringContaining('The export equals the mirror.') });
  expect(existsSync(join(cwd, 'own.db'))).toBe(true);
});

/** The files of an export with their texts. */
function dataOf(to: string): Record<string, string> {
  const files = readdirSync(to, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.csv'));
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(to, name), 'utf8')]));
}
