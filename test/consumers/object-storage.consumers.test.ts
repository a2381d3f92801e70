import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { exportMirror } from '../../src/api/export.ts';
import { verifyExport } from '../../src/api/verify-export.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { blocksUnder, readDocument } from '../docs/documents.ts';
import { FOREGROUND, followReadme, freePort, PYTHON, PYTHON_CONSUMERS } from '../docs/run-blocks.ts';
import { folder } from '../export/setup.ts';
import { changeAssets, changeMirror, EXPORTED, makeAwkwardMirror, writeExpected } from './awkward-mirror.ts';
import { expectReads } from './consumer.ts';
import { VENV, VERSITYGW } from './places.ts';

const SETTINGS = [
  'AWS_ENDPOINT_URL',
  'AWS_REGION',
  'AWS_ALLOW_HTTP',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
] as const;

const [PARQUET, DELTA] = ['s3://lake/a-prefix/parquet', 's3://lake/delta'];

/** Starts a server whose buckets are folders; the documents use `bucket`. @returns how to end it */
async function startServer(): Promise<() => Promise<unknown>> {
  const [buckets, port] = [folder(), await freePort()];
  for (const bucket of ['lake', 'bucket']) mkdirSync(join(buckets, bucket));
  const [id, secret, url] = ['test', 'secret of the test', `http://127.0.0.1:${port}`];
  const env = { ...process.env, ROOT_ACCESS_KEY: id, ROOT_SECRET_KEY: secret };
  const args = ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', buckets];
  const server = spawn(VERSITYGW, args, { env, stdio: 'ignore' });
  const ended = once(server, 'exit');
  await vi.waitFor(async () => expect((await fetch(url)).status).toBe(403), { timeout: 20_000 });
  const values = [url, 'us-east-1', 'true', id, secret];
  for (const [i, name] of SETTINGS.entries()) vi.stubEnv(name, values[i]);
  return () => {
    server.kill();
    return ended;
  };
}

describe.runIf(existsSync(VERSITYGW))('an export to an S3 server', () => {
  let endServer: () => Promise<unknown>;
  let mirror: MirrorFile;
  beforeAll(async () => {
    endServer = await startServer();
    mirror = makeAwkwardMirror();
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    mirror.connection.close();
    await endServer();
  });

  const exportDelta = (): Promise<unknown> =>
    exportMirror({ db: mirror.path, to: DELTA, views: true, format: 'delta' });
  const exportBoth = async (): Promise<void> => {
    await exportMirror({ db: mirror.path, to: PARQUET, views: true });
    await exportDelta();
    for (const against of [PARQUET, DELTA])
      expect(await verifyExport({ db: mirror.path, against })).toMatchObject({ equal: true });
  };

  test('Polars, pyarrow, delta-rs and DuckDB read each table and view from it, after the first and each later export', async () => {
    await exportBoth();
    await expectReads('object_storage.py', writeExpected(mirror, EXPORTED), PARQUET, DELTA, 'first export');
    changeMirror(mirror);
    // More than ten commits, so there is a checkpoint.
    for (let n = 10; n < 22; n++) {
      changeAssets(mirror, `change ${n}`, n);
      await exportDelta();
    }
    await exportBoth();
    await expectReads('object_storage.py', writeExpected(mirror, EXPORTED), PARQUET, DELTA, 'later export');
  });

  test('the blocks of docs/export.md about object storage run', async () => {
    const newcomer = await followReadme(join(VENV, 'bin'));
    try {
      const settings = SETTINGS.map((name) => `export ${name}='${process.env[name]}'\n`).join('');
      const host = new URL(String(process.env['AWS_ENDPOINT_URL'])).host;
      const local = `load httpfs; set s3_endpoint = '${host}'; set s3_use_ssl = false; set s3_url_style = 'path'`;
      const blocks = blocksUnder(readDocument('docs/export.md'), 'Object storage').map(({ language, text }) => ({
        language: language === PYTHON_CONSUMERS ? PYTHON : FOREGROUND,
        text: text.replace('load httpfs', local),
      }));
      const { code, said } = await newcomer.follow([{ language: FOREGROUND, text: settings }, ...blocks]);
      expect(code, said.slice(-3000)).toBe(0);
    } finally {
      await newcomer.end();
    }
  });

  test('of exports to one prefix at the same time each succeeds or says what happened, and the next is equal to the mirror', async () => {
    const to = 's3://lake/shared';
    const tables = [['assets'], ['tests'], ['assets', 'columns']];
    const ends = await Promise.allSettled(tables.map((table) => exportMirror({ db: mirror.path, to, table })));
    expect(ends.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
    for (const end of ends)
      if (end.status === 'rejected')
        expect(end.reason).toMatchObject({ recovery: 'run', message: expect.stringContaining('at the same time') });
    await exportMirror({ db: mirror.path, to, table: ['assets'] });
    expect(await verifyExport({ db: mirror.path, against: to })).toMatchObject({ equal: true });
  });

  test('a bucket that does not exist, and credentials that are refused, are errors of use', async () => {
    const usage = { recovery: 'usage' };
    await expect(exportMirror({ db: mirror.path, to: 's3://none/x' })).rejects.toMatchObject(usage);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'another');
    await expect(exportMirror({ db: mirror.path, to: PARQUET })).rejects.toMatchObject(usage);
  });
});
