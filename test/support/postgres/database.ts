import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { askAt, postgresServer } from '../postgres.ts';

/** A separate database for one test, because some schemas have fixed names. Dropped after the test. */
export interface TestDatabase {
  readonly url: string;
  /** Runs statements. Returns the rows of the last one, with each value as text or null. */
  ask(sql: string): Promise<Record<string, string | null>[]>;
}

/** Creates it on the shared server by default. */
export async function testDatabase(serverUrl?: string): Promise<TestDatabase> {
  const { drop, ...database } = await madeDatabase(serverUrl);
  onTestFinished(drop);
  return database;
}

/** The same for a whole test file, which must drop it. */
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
