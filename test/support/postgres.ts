import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { inject, onTestFinished } from 'vitest';

/** A schema of its own on a real server, for one test. */
export interface TestSchema {
  /** The address of a mirror in it: `postgres://…?schema=…`. */
  readonly url: string;
  /** The address of the server, without the schema. */
  readonly serverUrl: string;
  readonly schema: string;
  /**
   * Runs statements with the schema as the search path. Returns the last one's rows, with each value as text or null.
   */
  ask(sql: string): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
}

/**
 * The address of a real server: `OBSYNC_TEST_POSTGRES`, or the server that all test files of a run share. A test that
 * stops or fills its server starts its own with `startServer()` of `postgres/server.ts`.
 */
export async function postgresServer(): Promise<string> {
  const own = process.env['OBSYNC_TEST_POSTGRES'];
  if (own !== undefined && own !== '') return own;
  const response = await fetch(inject('postgres'));
  const said = await response.text();
  if (!response.ok) throw new Error(said);
  return said;
}

/** Reserves a name for a schema, which the test creates. Drop it at the end. */
export async function testSchema(serverUrl?: string): Promise<TestSchema> {
  const server = serverUrl ?? (await postgresServer());
  const schema = `obsync_test_${randomBytes(6).toString('hex')}`;
  const url = new URL(server);
  url.searchParams.set('schema', schema);
  const ask = (sql: string) => askAt(server, sql, schema);
  return {
    url: url.href,
    serverUrl: server,
    schema,
    ask,
    drop: async () => void (await ask(`drop schema if exists ${schema} cascade`)),
  };
}

/** A schema that is dropped when the test ends. */
export async function temporarySchema(): Promise<TestSchema> {
  const schema = await testSchema();
  onTestFinished(schema.drop);
  return schema;
}

/** Runs statements over a connection of their own. Returns the last one's rows, with each value as text or null. */
export async function askAt(url: string, sql: string, schema = 'public'): Promise<Record<string, string | null>[]> {
  const client = new Client({ connectionString: url, types: AS_TEXT });
  await client.connect();
  try {
    await client.query(`set search_path to ${schema}`);
    // Several statements return several results.
    return [await client.query(sql)].flat().at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}

const AS_TEXT = { getTypeParser: () => (text: string) => text };
