import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import { type assets, type columns, environments } from '../../schema/assets.ts';
import type { tests } from '../../schema/tests.ts';
import { type MirrorFile, openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import { createServer, type ServerOptions } from '../../src/server/server.ts';

export const NOW = '2026-11-20T12:00:00.000000Z';
export const NOW_MS = Date.parse('2026-11-20T12:00:00Z');
const stamped = { env_id: 'e', mirrored_at: NOW };

export const asset = (id: string, more: Partial<typeof assets.$inferInsert> = {}) => ({
  ...stamped,
  id,
  name: `name of ${id}`,
  kind: 'table',
  source_type: 'dbt',
  synced_at: '2026-11-01T00:00:00.000000Z',
  ...more,
});

export const column = (id: string, more: Partial<typeof columns.$inferInsert> = {}) => ({
  ...stamped,
  id,
  asset_id: 'a',
  name: id,
  synced_at: '2026-11-01T00:00:00.000000Z',
  ...more,
});

export const test_ = (id: string, more: Partial<typeof tests.$inferInsert> = {}) => ({
  ...stamped,
  id,
  name: id,
  test_type: 'unique',
  definition_type: 'generic',
  source_type: 'dbt',
  severity: 'ERROR',
  disabled: 0,
  synced_at: '2026-11-01T00:00:00.000000Z',
  ...more,
});

export const run = (
  id: string,
  more: { test_id?: string; status?: string; start_time?: string; sub_test_unique_id?: string } = {},
) => ({
  ...stamped,
  id,
  test_id: 't',
  sub_test_unique_id: `sub ${id}`,
  sub_type: 'unique',
  status: 'PASS',
  failure_count: 0,
  start_time: '2026-11-19T00:00:00.000000Z',
  duration_seconds: 1.5,
  ...more,
});

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was answered
  readonly body: any;
  readonly headers: Record<string, unknown>;
}

export interface Served {
  readonly server: FastifyInstance;
  readonly mirror: MirrorFile;
  readonly writing: MirrorFile;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Every item of a list, page by page, and the number of pages. */
  all(path: string): Promise<{ items: Record<string, unknown>[]; pages: number }>;
}

/** A server over a new file with environment `e`, filled by the test, gone when the test ends. */
export function serve(fill: (writing: MirrorFile) => void, options: Partial<ServerOptions> = {}): Served {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-server-'));
  const writing = openForWriting(join(folder, 'source.db'));
  writing.db.insert(environments).values({ id: 'e', name: 'Environment', mirrored_at: NOW }).run();
  fill(writing);
  const mirror = openForReading(writing.path);
  const server = createServer({ mirror, token: null, nowMs: () => NOW_MS, ...options });
  onTestFinished(async () => {
    await server.close();
    mirror.connection.close();
    writing.connection.close();
    rmSync(folder, { recursive: true });
  });
  const get: Served['get'] = async (path, headers = {}) => {
    const answer = await server.inject({ method: 'GET', url: `/public/beta/${path}`, headers });
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
  };
  return { server, mirror, writing, get, all: (path) => readAll(get, path) };
}

async function readAll(get: Served['get'], path: string) {
  const items: Record<string, unknown>[] = [];
  const join_ = path.includes('?') ? '&' : '?';
  let pages = 0;
  let cursor: string | null = null;
  do {
    const { status, body } = await get(cursor === null ? path : `${path}${join_}cursor=${cursor}`);
    if (status !== 200) throw new Error(JSON.stringify(body));
    items.push(...body.items);
    pages += 1;
    cursor = body.has_more ? body.next_cursor : null;
  } while (cursor !== null && pages < 1000);
  return { items, pages };
}

export const idsOf = (items: Record<string, unknown>[]) => items.map(({ id }) => id);
