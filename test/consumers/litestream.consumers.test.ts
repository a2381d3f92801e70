import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Row } from '../../src/core/stream.ts';
import { sync, verify } from '../../src/index.ts';
import { folder } from '../cli/setup.ts';
import { blocksUnder, readDocument } from '../docs/documents.ts';
import { furnish } from '../model/furnish.ts';
import { createWorld, HOUR } from '../model/world.ts';
import { expectSameRows, TABLES } from '../support/compare-mirrors.ts';
import { serveWorld } from '../support/world-server.ts';
import { LITESTREAM } from './places.ts';

const run = promisify(execFile);

/** A service, the place of a mirror, and the configuration of docs/operations.md with a folder for its bucket. */
async function setUp() {
  const world = createWorld(['e1', 'e2']);
  for (const place of world.environments.values()) furnish(place);
  const server = await serveWorld(world);
  onTestFinished(() => server.close());
  const home = folder();
  const [db, config, restored] = [join(home, 'mirror.db'), join(home, 'litestream.yml'), join(home, 'restored.db')];
  const [documented] = blocksUnder(readDocument('docs/operations.md'), 'Backup').filter(({ text }) =>
    /^dbs:/.test(text),
  );
  writeFileSync(
    config,
    String(documented?.text)
      .replace('/var/lib/obsync/mirror.db', db)
      .replace('s3://my-bucket/obsync', `file://${home}/replica`),
  );
  const options = { baseUrl: server.url, token: 'the-token', db };
  return { world, db, config, restored, options };
}

/** @returns how to kill it, as a power loss would */
function replicate(config: string): () => Promise<unknown> {
  const child = spawn(LITESTREAM, ['replicate', '-config', config], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const kill = (): Promise<unknown> => {
    child.kill('SIGKILL');
    return ended;
  };
  onTestFinished(async () => void (await kill()));
  return kill;
}

async function restore({ config, db, restored }: Awaited<ReturnType<typeof setUp>>): Promise<void> {
  rmSync(restored, { force: true });
  await run(LITESTREAM, ['restore', '-config', config, '-o', restored, db]);
}

function asking(path: string): (sql: string) => Row[] {
  const connection = new Database(path, { readonly: true });
  onTestFinished(() => void connection.close());
  return (sql) => connection.prepare<[], Row>(sql).all();
}

describe.runIf(existsSync(LITESTREAM))('a mirror that Litestream replicates while syncs write it', () => {
  test('once it has caught up, it restores the same mirror', async () => {
    const place = await setUp();
    const { world, db, config, restored, options } = place;
    const kill = replicate(config);
    for (const full of [false, false, true]) {
      expect(await sync({ ...options, full })).toMatchObject({ status: 'done' });
      world.advance(HOUR);
    }
    const ended = asking(db)('select id, ended_at from sync_runs order by id');
    await vi.waitFor(
      async () => {
        await restore(place);
        expect(asking(restored)('select id, ended_at from sync_runs order by id')).toEqual(ended);
      },
      { timeout: 30_000 },
    );
    await kill();
    await expectSameRows(asking(db), asking(restored), TABLES);
  });

  test('after it was killed during a sync, the next sync continues what it restores', async () => {
    const place = await setUp();
    const { world, db, config, restored, options } = place;
    const kill = replicate(config);
    await sync(options);
    await vi.waitFor(() => restore(place), { timeout: 30_000 });
    world.advance(3 * HOUR);
    let killed: Promise<unknown> | null = null;
    await sync({
      ...options,
      full: true,
      onProgress() {
        killed ??= kill();
      },
    });
    await killed;
    await restore(place);
    for (const end of ['', '-wal', '-shm']) rmSync(`${db}${end}`);
    renameSync(restored, db);
    expect(asking(db)('pragma quick_check')).toEqual([{ quick_check: 'ok' }]);
    expect(await sync(options)).toMatchObject({ status: 'done' });
    expect(await verify(options)).toMatchObject({ equal: true });
  });
});
