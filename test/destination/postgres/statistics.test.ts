import { afterEach, beforeEach, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import { decodePage } from '../../../src/core/decode/decode.ts';
import type { Destination } from '../../../src/core/ports/destination.ts';
import { createPostgresDestination } from '../../../src/destination/postgres/destination.ts';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import { openPool } from '../../../src/destination/postgres/pool.ts';
import { tableStatistics, withStatistics } from '../../../src/destination/postgres/statistics.ts';
import type { PostgresDatabase } from '../../../src/destination/postgres/transaction.ts';
import { streamOf } from '../../core/setup.ts';
import { PLAIN_ROUND_END } from '../../support/commit-parts.ts';
import { column, START } from '../../support/conformance/workbench.ts';
import { type TestSchema, testSchema } from '../../support/postgres.ts';

let place: TestSchema;
let database: PostgresDatabase;
let on: Destination;
beforeEach(async () => {
  place = await testSchema();
  database = openPool({ client: { connectionString: place.serverUrl }, schema: place.schema, maxConnections: 4 });
  await database.session((connection) => migratePostgres(connection, place.schema));
  on = opened();
  // The server itself analyzes no table here.
  await place.ask('alter table columns set (autovacuum_enabled = false)');
});
afterEach(async () => {
  await database.close();
  await place.drop();
});

function opened(envId = 'e'): Destination {
  const waiting = { sleep: async () => undefined, random: () => 0 };
  const of = { envId, run: 1, clock: () => START, lease: null, errorOf: (error: unknown) => error };
  return withStatistics(createPostgresDestination(database, { ...waiting, ...of }), {
    envId,
    statistics: tableStatistics(database, place.schema),
  });
}

const stream = streamOf('columns');

function show(from: number, count: number) {
  const items = Array.from({ length: count }, (_, i) => column(`c${from + i}`));
  const changes = decodePage(stream, items).rows.map(({ row }) => ({ kind: 'inserted' as const, row }));
  return on.commit(stream, { kind: 'page', checkpoint: NO_PROGRESS, changes }, new Set());
}

const ROUND = { ...PLAIN_ROUND_END, isWhole: false, isHeld: () => false };
const endRound = () => on.commit(stream, { kind: 'round-end', checkpoint: NO_PROGRESS, roundEnd: ROUND }, new Set());

/** The server's estimate of a table's rows; -1 before it was analyzed. */
async function believedRows(): Promise<number> {
  const [found] = await place.ask(`select reltuples from pg_class where oid = 'columns'::regclass`);
  return Number(found?.['reltuples']);
}

test('before a round ends, tables that have doubled since they were last analyzed are analyzed', async () => {
  await show(0, 2000);
  expect(await believedRows()).toBe(-1);
  await endRound();
  expect(await believedRows()).toBe(2000);
  await show(2000, 1500);
  await endRound();
  expect(await believedRows()).toBe(2000);
  await show(3500, 1500);
  await endRound();
  expect(await believedRows()).toBe(5000);
});

test('the first round end of a process counts rows written by earlier ones; few rows cause no analysis', async () => {
  await show(0, 2000);
  on = opened();
  await endRound();
  expect(await believedRows()).toBe(2000);
  await place.ask('truncate columns');
  await show(0, 900);
  await endRound();
  expect(await believedRows()).toBe(-1);
});

test('an environment with many rows that the statistics don’t know is analyzed, once', async () => {
  await show(0, 4000);
  await endRound();
  on = opened('f');
  await show(0, 900);
  await endRound();
  expect(await believedRows()).toBe(4000);
  await show(900, 600);
  await show(1500, 500);
  await endRound();
  expect(await believedRows()).toBe(6000);
  await show(2000, 1500);
  await endRound();
  expect(await believedRows()).toBe(6000);
});
