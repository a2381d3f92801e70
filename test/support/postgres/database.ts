import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import { postgresServer } from '../postgres.ts';

/** A database of its own, for a test of what stands in schemas of fixed names; it goes with the test. */
export interface TestDatabase {
  readonly url: string;
  /** Runs statements as another program would; the rows of the last one, each value a text or null. */
  ask(sql: string): Promise<Record<string, string | null>[]>;
}

/** On the server that all tests share, or on another one. */
export async function testDatabase(serverUrl?: string): Promise<TestDatabase> {
  const { drop, ...database } = await madeDatabase(serverUrl);
  onTestFinished(drop);
  return database;
}

/** The same, for a whole file of tests: it goes when it is dropped. */
export async function madeDatabase(serverUrl?: string): Promise<TestDatabase & { drop(): Promise<void> }> {
  const server = serverUrl ?? (await postgresServer());
  const name = `obsync_test_${randomBytes(6).toString('hex')}`;
  await askAt(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    ask: (sql) => askAt(url.href, sql),
    drop: async () => void (await askAt(server, `drop database ${name} with (force)`)),
  };
}

async function askAt(url: string, sql: string): Promise<Record<string, string | null>[]> {
  const client = new Client({ connectionString: url, types: AS_TEXT });
  await client.connect();
  try {
    return [await client.query(sql)].flat().at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}

const AS_TEXT = { getTypeParser: () => (text: string) => text };
