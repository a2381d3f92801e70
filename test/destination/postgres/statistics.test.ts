import { beforeEach, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import { decodePage } from '../../../src/core/decode/decode.ts';
import type { Destination } from '../../../src/core/ports/destination.ts';
import { tableStatistics, withStatistics } from '../../../src/destination/postgres/statistics.ts';
import type { PostgresDatabase } from '../../../src/destination/postgres/transaction.ts';
import { streamOf } from '../../core/setup.ts';
import { PLAIN_ROUND_END } from '../../support/commit-parts.ts';
import { column } from '../../support/conformance/workbench.ts';
import type { TestSchema } from '../../support/postgres.ts';
import { destinationOf, migratedMirror } from './setup.ts';

let place: TestSchema;
let database: PostgresDatabase;
let on: Destination;
beforeEach(async () => {
  ({ place, database } = await migratedMirror());
  on = opened();
  // The server itself analyzes no table here.
  await place.ask('alter table columns set (autovacuum_enabled = false)');
});

function opened(envId = 'e'): Destination {
  return withStatistics(destinationOf(database, { envId }), {
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
