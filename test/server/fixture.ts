import { join } from 'node:path';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { FastifyInstance } from 'fastify';
import { afterAll, onTestFinished, TestRunner } from 'vitest';
import { type assets, type columns, environments } from '../../schema/assets.ts';
import type { tests } from '../../schema/data-tests.ts';
import { mirrorEnvironments } from '../../schema/sync.ts';
import { decodePage } from '../../src/core/decode/decode.ts';
import { tableNamed } from '../../src/destination/sql/tables.ts';
import { performAtOnce } from '../../src/destination/sqlite/driver.ts';
import { type MirrorFile, openForReading } from '../../src/destination/sqlite/open.ts';
import { type Principal, rootToken, type TokenHash } from '../../src/server/access.ts';
import { createServer, type ServerOptions } from '../../src/server/server.ts';
import type { FeedName } from '../../src/streams/catalogue.ts';
import { claimMirror } from '../../state/run-log.ts';
import { entryNamed } from '../support/catalogue.ts';
import { openFilled } from '../support/open-filled.ts';
import { SAMPLES } from '../support/samples.ts';
import { testFolder } from '../support/test-folder.ts';

export const NOW = '2026-11-20T12:00:00.000000Z';
export const NOW_MS = Date.parse('2026-11-20T12:00:00Z');
const stamped = { env_id: 'e', mirrored_at: NOW };

const KEYS = [rootToken('all', 'secret')];
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** The token that is this name, with these restrictions. */
export function restricted(name: string, limits: Partial<Principal>): TokenHash {
  const { sha256, reader } = rootToken(name, name);
  return { sha256, reader: { ...reader, ...limits } };
}

/** A row that reached the mirror at the moment it was synced or deleted. */
const timed = ({
  synced_at,
  deleted_at,
}: {
  synced_at?: string | null | undefined;
  deleted_at?: string | null | undefined;
}) => ({
  env_id: 'e',
  synced_at: '2026-11-01T00:00:00.000000Z',
  mirrored_at: deleted_at ?? synced_at ?? '2026-11-01T00:00:00.000000Z',
});

const TABLE = { data_platform: 'snowflake', db_name: 'd', schema_name: 's', table_name: 't', materialization: 'view' };

export const asset = (id: string, more: Partial<typeof assets.$inferInsert> = {}) => ({
  ...timed(more),
  id,
  name: `name of ${id}`,
  kind: 'table',
  source_type: 'dbt',
  ...(more.kind === undefined ? TABLE : {}),
  ...more,
});

export const column = (id: string, more: Partial<typeof columns.$inferInsert> = {}) => ({
  ...timed(more),
  id,
  asset_id: 'a',
  name: id,
  ...more,
});

export const test_ = (id: string, more: Partial<typeof tests.$inferInsert> = {}) => ({
  ...timed(more),
  id,
  name: id,
  test_type: 'unique',
  definition_type: 'generic',
  source_type: 'dbt',
  severity: 'ERROR',
  disabled: 0,
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

/** Inserts many rows. Each value is SQL, in which `i` is the number of the row from 1 on. */
export function insertMany(
  { connection }: MirrorFile,
  table: string,
  count: number,
  more: Readonly<Record<string, string>>,
): void {
  const values = { env_id: "'e'", mirrored_at: `'${NOW}'`, ...more };
  connection.exec(`insert into ${table} (${Object.keys(values).join(', ')})
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    select ${Object.values(values).join(', ')} from n`);
}

export const assetEdge = (up: string, down: string) => ({
  ...stamped,
  upstream_asset_id: up,
  downstream_asset_id: down,
});

export const columnEdge = (up: string, down: string) => ({
  ...stamped,
  upstream_column_id: up,
  downstream_column_id: down,
});

/** A row of a feed, made from its sample, for collections that this file does not name. */
export function insertSample(
  { db }: MirrorFile,
  kind: FeedName,
  id: string,
  more: Parameters<typeof timed>[0] & { env_id?: string; asset_id?: string; mirrored_at?: string },
): void {
  const entry = entryNamed(kind);
  const { rows } = decodePage(entry, [SAMPLES[kind](id, more.asset_id ?? 'a')]);
  insert(db, tableNamed(entry.table), { ...timed(more), ...rows[0]?.row, ...more });
}

/** Inserts rows or lists of rows. */
export function insert<Table extends SQLiteTable>(
  db: MirrorFile['db'],
  table: Table,
  ...rows: (Table['$inferInsert'] | readonly Table['$inferInsert'][])[]
): void {
  db.insert(table)
    .values(rows.flat() as Table['$inferInsert'][])
    .run();
}

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was answered
  readonly body: any;
  readonly headers: Record<string, unknown>;
}

export interface Served {
  readonly server: Promise<FastifyInstance>;
  readonly mirror: MirrorFile;
  readonly writing: MirrorFile;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Every item of a list, read page by page, and the number of pages. */
  all(path: string, headers?: Record<string, string>): Promise<{ items: Record<string, unknown>[]; pages: number }>;
  /** Sends requests to another server over the same file. */
  restarted(): Promise<Served['get']>;
}

/** A new file with environment `e`, filled by the test. */
export function newMirror(fill: (writing: MirrorFile) => void): MirrorFile {
  return openFilled(join(testFolder(), 'source.db'), fill, (writing) => {
    performAtOnce(writing, claimMirror('https://service.test', writing.path));
    insert(writing.db, mirrorEnvironments, { env_id: 'e', mirrored_at: NOW });
    insert(writing.db, environments, { id: 'e', name: 'Environment', mirrored_at: NOW });
  });
}

const nothing = () => {};

/** A server over a new mirror, until the test ends or, outside of tests, the suite. */
export function serve(fill: (writing: MirrorFile) => void = nothing, options: Partial<ServerOptions> = {}): Served {
  const whenDone = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished;
  const writing = newMirror(fill);
  const opened: { server: Promise<FastifyInstance>; mirror: MirrorFile }[] = [];
  const start = () => {
    const mirror = openForReading(writing.path);
    const server = createServer({ mirror, keys: () => KEYS, nowMs: () => NOW_MS, ...options });
    opened.push({ server, mirror });
    return { server, mirror, get: getting(server) };
  };
  whenDone(async () => {
    for (const { server, mirror } of opened) {
      await (await server).close();
      mirror.connection.close();
    }
    writing.connection.close();
  });
  const { server, mirror, get } = start();
  return {
    server,
    mirror,
    writing,
    get,
    all: (path, headers) => readAll(get, path, headers),
    restarted: async () => start().get,
  };
}

function getting(server: Promise<FastifyInstance>): Served['get'] {
  return async (path, headers = bearer('secret')) => {
    const answer = await (await server).inject({ method: 'GET', url: `/public/beta/${path}`, headers });
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
  };
}

async function readAll(get: Served['get'], path: string, headers?: Record<string, string>) {
  const items: Record<string, unknown>[] = [];
  const join_ = path.includes('?') ? '&' : '?';
  let pages = 0;
  let cursor: string | null = null;
  do {
    const { status, body } = await get(cursor === null ? path : `${path}${join_}cursor=${cursor}`, headers);
    if (status !== 200) throw new Error(JSON.stringify(body));
    items.push(...body.items);
    pages += 1;
    cursor = body.has_more ? body.next_cursor : null;
  } while (cursor !== null && pages < 1000);
  return { items, pages };
}

export const idsOf = (items: Record<string, unknown>[]) => items.map(({ id }) => id);
