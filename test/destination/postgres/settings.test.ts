import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PostgresAddress } from '../../../src/destination/postgres/address.ts';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import { beginIn, type OpenConnection, openConnection } from '../../../src/destination/postgres/open-connection.ts';
import type { PostgresConnection } from '../../../src/destination/postgres/transaction.ts';
import { inTransaction } from '../../../src/destination/postgres/transaction.ts';
import { type TestSchema, testSchema } from '../../support/postgres.ts';

let place: TestSchema;
let connection: OpenConnection;

beforeAll(async () => {
  place = await testSchema();
  const options = [
    ...['extra_float_digits=0', 'timezone=Asia/Tokyo', 'datestyle=SQL'],
    'default_transaction_isolation=serializable',
  ];
  const client = { connectionString: place.serverUrl, options: options.map((each) => `-c ${each}`).join(' ') };
  const address: PostgresAddress = { kind: 'postgres', schema: place.schema, display: '', client };
  connection = await openConnection(address);
  await migratePostgres(connection, place.schema);
  // Behind a pooler, it belongs to another program.
  await connection.query('create temporary table environments (id text)');
});
afterAll(async () => {
  await connection.close();
  await place.drop();
});

const READ = "select 0.1::float8 + 0.2::float8 as sum, timestamptz '2026-11-20 04:10:00+00' as at";

type Transaction = <Done>(work: (inside: PostgresConnection) => Promise<Done>) => Promise<Done>;

describe.each<[string, Transaction]>([
  ['a transaction that writes', (work) => inTransaction(connection, { schema: place.schema }, work)],
  [
    'a transaction that lasts',
    async (work) => {
      await beginIn(connection, place.schema, 'isolation level read committed');
      return work(connection).finally(() => connection.query('commit'));
    },
  ],
])('%s', (_, transaction) => {
  test('it reads values in the same format whatever the user’s settings are', async () => {
    const { rows } = await transaction((inside) => inside.query(READ));
    expect(rows).toEqual([{ sum: 0.1 + 0.2, at: '2026-11-20T04:10:00.000000Z' }]);
  });

  test('it sees the mirror’s tables, not temporary tables of the same name', async () => {
    const { rows } = await transaction((inside) => inside.query('select name from environments'));
    expect(rows).toEqual([]);
  });

  test('it is read committed, so it sees what others commit after it began', async () => {
    const { rows } = await transaction((inside) => inside.query('show transaction_isolation'));
    expect(rows).toEqual([{ transaction_isolation: 'read committed' }]);
  });
});
