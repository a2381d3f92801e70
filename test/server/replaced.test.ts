import { copyFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { assets } from '../../schema/assets.ts';
import { mirrorEnvironments } from '../../schema/sync.ts';
import { testFolder } from '../support/test-folder.ts';
import { asset, insert, serve } from './fixture.ts';
import { expectRefusal } from './refusal.ts';

test('a replaced or removed mirror file is answered with 503 until it is back, also by /healthz', async () => {
  const { writing, server, get } = serve(({ db }) => insert(db, assets, asset('a')));
  const { path } = writing;
  const statuses = async () => {
    const health = await (await server).inject('/healthz');
    return [(await get('e/assets')).status, (await get('e/assets/a')).status, health.statusCode];
  };
  expect(await statuses()).toEqual([200, 200, 200]);
  renameSync(path, `${path}.kept`);
  expect(await statuses()).toEqual([503, 503, 503]);
  copyFileSync(`${path}.kept`, path);
  expect(await statuses()).toEqual([503, 503, 503]);
  expect((await get('e/assets')).body).toEqual({
    error: {
      code: 'mirror_replaced',
      message: 'The mirror file was replaced, overwritten or removed: restart the server',
    },
  });
  rmSync(path);
  renameSync(`${path}.kept`, path);
  expect(await statuses()).toEqual([200, 200, 200]);
});

/** The path of another mirror, fully checkpointed into its file. */
function otherMirror(fill: Parameters<typeof serve>[0]): string {
  const { writing } = serve(fill);
  writing.connection.pragma('wal_checkpoint(truncate)');
  return writing.path;
}

const MANY = Array.from({ length: 100 }, (_, i) => asset(`b${i}`, { description: 'x'.repeat(5000) }));

test.each<[size: string, fill: Parameters<typeof serve>[0]]>([
  ['larger', ({ db }) => insert(db, assets, MANY)],
  ['smaller', () => {}],
])('a %s mirror copied into the same file is answered with 503, also by /healthz', async (_, fill) => {
  const { writing, server, get } = serve(({ db }) => insert(db, assets, MANY.slice(50)));
  writing.connection.pragma('wal_checkpoint(truncate)');
  expect((await get('e/assets')).status).toBe(200);
  copyFileSync(otherMirror(fill), writing.path);
  expectRefusal(await get('e/assets'), 503, 'mirror_replaced');
  expect((await (await server).inject('/healthz')).statusCode).toBe(503);
});

test.each<[what: string, overwrite: (path: string) => void]>([
  ['the first pages of a mirror', (path) => truncateSync(path, 8192)],
  ['a text', (path) => writeFileSync(path, 'no mirror')],
  ['another database', (path) => copyFileSync(otherDatabase(), path)],
])('%s, copied into the file after a sync that no request has seen, is answered with 503', async (_, overwrite) => {
  const { writing, server, get } = serve(({ db }) => insert(db, assets, MANY));
  expect((await get('e/assets')).status).toBe(200);
  insert(writing.db, assets, asset('a'));
  writing.connection.pragma('wal_checkpoint(truncate)');
  overwrite(writing.path);
  expectRefusal(await get('e/assets'), 503, 'mirror_replaced');
  expect((await (await server).inject('/healthz')).json()).toMatchObject({ error: { code: 'mirror_replaced' } });
});

function otherDatabase(): string {
  const path = join(testFolder(), 'other.db');
  const connection = new Database(path);
  connection.exec('create table other (id integer)');
  connection.close();
  return path;
}

test('a mirror file that only a sync changed is answered as before', async () => {
  const { writing, get } = serve(({ db }) => insert(db, assets, asset('a')));
  expect((await get('e/assets')).body.items).toHaveLength(1);
  insert(writing.db, assets, asset('b'));
  writing.connection.pragma('wal_checkpoint(truncate)');
  expect((await get('e/assets')).body.items).toHaveLength(2);
  writing.connection.exec('vacuum');
  writing.connection.pragma('wal_checkpoint(truncate)');
  expect((await get('e/assets')).body.items).toHaveLength(2);
});

test('an earlier copy of the same mirror, written over it byte by byte, is answered with 503', async () => {
  const { writing, get } = serve(({ db }) => insert(db, assets, asset('a')));
  writing.connection.pragma('wal_checkpoint(truncate)');
  copyFileSync(writing.path, `${writing.path}.backup`);
  writing.db.update(mirrorEnvironments).set({ mirrored_at: '2026-11-21T12:00:00.000000Z' }).run();
  writing.connection.pragma('wal_checkpoint(truncate)');
  expect((await get('e/assets')).status).toBe(200);
  copyFileSync(`${writing.path}.backup`, writing.path);
  expectRefusal(await get('e/assets'), 503, 'mirror_replaced');
});
