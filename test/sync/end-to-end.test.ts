import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runOnce } from '../../src/api/session.ts';
import { changeSample } from '../../src/demo/changes.ts';
import { makeSample } from '../../src/demo/sample.ts';
import { type MirrorFile, openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import { rootToken } from '../../src/server/access.ts';
import { createServer } from '../../src/server/server.ts';
import { syncSettings } from '../../src/settings/sync-settings.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { FEED_STREAMS, TABLES_OF_EVERY_RUN } from '../support/catalogue.ts';
import { testFolder } from '../support/test-folder.ts';

const HOUR_MS = 3_600_000;

/** The columns that the mirror adds, and the times that it serves as its own. */
const OWN = "('mirrored_at', 'extra', 'synced_at', 'deleted_at')";

const folder = testFolder();
let source: MirrorFile;
let server: FastifyInstance;
let nowMs = Date.now();
/** How far the `Date` of a response is ahead of the server's own clock. */
let aheadMs = 0;
let requests: string[] = [];

beforeAll(async () => {
  source = openForWriting(join(folder, 'source.db'));
  makeSample(source, { seed: 11, nowMs });
  server = await createServer({ mirror: source, keys: () => [rootToken('all', 'secret')] });
  server.addHook('onRequest', async (request) => void requests.push(request.url));
  server.addHook('onSend', async (_, reply) => {
    const date = Date.parse(String(reply.getHeader('date')));
    if (aheadMs > 0) reply.header('date', new Date(date + aheadMs).toUTCString());
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
});

afterAll(async () => {
  await server.close();
  source.connection.close();
});

async function sync(): Promise<RunSummary> {
  requests = [];
  const baseUrl = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  const watch = { signal: new AbortController().signal, onProgress() {} };
  return runOnce(syncSettings({ baseUrl, db: join(folder, 'mirror.db'), token: 'secret', fullEvery: 7 }), watch);
}

/** The live rows of a table, without the mirror's own columns. */
function live(mirror: MirrorFile, table: string): unknown[] {
  const names = mirror.connection.prepare(`select name from pragma_table_info(?) where name not in ${OWN}`).pluck();
  const columns = (names.all(table) as string[]).map((name) => `"${name}"`).join(', ');
  const where = columns.includes('"deleted_at"') ? 'where deleted_at is null' : '';
  return mirror.connection.prepare(`select ${columns} from ${table} ${where} order by 1, 2, 3`).all();
}

function expectTrue(): void {
  const mirror = openForReading(join(folder, 'mirror.db'));
  for (const table of TABLES_OF_EVERY_RUN) expect(live(mirror, table), table).toEqual(live(source, table));
  mirror.connection.close();
}

const readsOf = (path: string): number => requests.filter((url) => url.includes(`/${path}?`)).length;

describe('a sync over a real socket', () => {
  test('the first sync mirrors the whole source, and requests no page twice', async () => {
    const summary = await sync();
    expect(summary.status).toBe('done');
    expect(summary.requests).toBe(requests.length);
    expect(new Set(requests).size).toBe(requests.length);
    expectTrue();
  });

  test('an idle sync reads two feeds per stream and the snapshots, and writes nothing (R22)', async () => {
    const summary = await sync();
    expect(summary).toMatchObject({ status: 'done', rows_written: 0, rows_deleted: 0 });
    // The larger environment has two pages of latest executions.
    const snapshots = { lineage: readsOf('asset-lineage'), latest: readsOf('latest-test-executions') };
    expect({ ...snapshots, all: requests.length }).toEqual({
      ...snapshots,
      all: 1 + 2 * 2 * FEED_STREAMS.length + snapshots.lineage + snapshots.latest,
    });
    const reads = CATALOGUE.filter(({ method, hourly }) => method !== 'snapshot' || hourly).map(({ path, method }) => [
      readsOf(path.join('/')),
      method === 'feed' ? 4 : 0,
    ]);
    expect(reads.map(([read]) => read)).toEqual(reads.map(([, expected]) => expected));
  });

  test('a sync after changes reads no scan, and applies deletions and lost edges too', async () => {
    nowMs += 2 * HOUR_MS;
    const changes = changeSample(source, { seed: 11, nowMs });
    const summary = await sync();
    expect(summary.status).toBe('done');
    expect(summary.streams.filter((stream) => stream.mode === 'scan')).toEqual([]);
    expect(summary.rows_deleted).toBeGreaterThanOrEqual(
      changes.assetsDeleted + changes.columnsDeleted + changes.testsDeleted,
    );
    expectTrue();
  });

  test('edges read within the overlap are read once more after it, and then no more (R18, R22)', async () => {
    aheadMs = 2 * HOUR_MS;
    expect((await sync()).status).toBe('done');
    expect(readsOf('column-lineage')).toBeGreaterThan(0);
    expectTrue();
    expect(await sync()).toMatchObject({ status: 'done', rows_written: 0, rows_deleted: 0 });
    expect(readsOf('column-lineage')).toBe(0);
  });
});
