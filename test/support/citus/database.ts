import { Client } from 'pg';
import { connectionOf } from '../../../src/destination/postgres/pool.ts';
import { madeDatabase, type TestDatabase } from '../postgres/database.ts';
import { standInForCitus } from './stand-in.ts';

/** A separate database with the stand-in for Citus, until it is dropped. */
export async function databaseWithCitus(): Promise<TestDatabase & { drop(): Promise<void> }> {
  const database = await madeDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await standInForCitus(connectionOf(client)).finally(() => client.end());
  return database;
}
