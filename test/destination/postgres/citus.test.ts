import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readStatus } from '../../../src/api/status-report.ts';
import { instantOfMs } from '../../../src/core/time/instant.ts';
import { postgresScope } from '../../../src/destination/postgres/destination.ts';
import { performOn } from '../../../src/destination/postgres/driver.ts';
import {
  heldEnvironments,
  identifyBackend,
  releaseLeases,
  renewLease,
  takeLeases,
} from '../../../src/destination/postgres/leases.ts';
import { postgresState } from '../../../src/destination/postgres/state.ts';
import type { PostgresDatabase } from '../../../src/destination/postgres/transaction.ts';
import { CATALOGUE } from '../../../src/streams/catalogue.ts';
import { runSync } from '../../../src/sync/run.ts';
import { loadLastStarts } from '../../../state/run-log.ts';
import type { StateStatements } from '../../../state/state-statements.ts';
import { furnish } from '../../model/furnish.ts';
import { createWorld, HOUR } from '../../model/world.ts';
import { knownFunctions } from '../../support/citus/rules.ts';
import { type DistributedMirror, distributedMirror, IS_STAND_IN, watchedByCitus } from '../../support/citus/server.ts';
import { watched } from '../../support/citus/watched.ts';
import { minute } from '../../support/conformance/workbench.ts';
import { describeDestination } from '../../support/conformance.ts';
import { DECISION_OPTIONS } from '../../support/decision-options.ts';
import { emptyMirror, mirrorIn } from '../../support/pglite-conformance.ts';
import { pgliteDatabase } from '../../support/pglite-mirror.ts';
import { COMMIT_KINDS, furnishedRows } from '../commit-kinds.ts';
import { destinationOf, insertRow } from './setup.ts';

let mirror: DistributedMirror;
let known: Awaited<ReturnType<typeof knownFunctions>>;
let watch: ReturnType<typeof watched>;
let database: PostgresDatabase;
beforeAll(async () => {
  mirror = await distributedMirror();
  known = await knownFunctions(mirror.server);
  watch = IS_STAND_IN ? watched(mirror.server, known) : watchedByCitus(mirror.server);
  database = pgliteDatabase(watch.connection, mirror.schema);
});
afterAll(() => mirror.close());

const empty = () => emptyMirror(mirror.server, mirror.schema);

describeDestination('PostgreSQL with tables partitioned by env_id', (clock) =>
  mirrorIn(watch.connection, mirror.schema, { clock, close: empty }),
);

describe('a mirror with partitioned tables', () => {
  beforeEach(empty);

  test.each(CATALOGUE)('every kind of commit of $name succeeds', async (stream) => {
    for (const { title, act } of COMMIT_KINDS.filter((kind) => kind.isOf(stream))) {
      for (const { table, row } of furnishedRows(stream))
        await insertRow(mirror.server, `${mirror.schema}.${table}`, row);
      const destination = destinationOf(database, { run: 2, clock: () => minute(1) });
      expect(await act(destination, stream), title).toBeDefined();
      await empty();
    }
  });

  test('runs that hold leases sync two environments while one is delisted and listed again', async () => {
    const envIds = ['e1', 'e2'];
    const world = createWorld(envIds);
    for (const place of world.environments.values()) furnish(place);
    const clock = (): string => instantOfMs(world.nowMs);
    const owner = { owner: 'this', backend: null };
    for (const isListed of [true, false, true]) {
      world.environment('e2').listed = isListed;
      const leases = await database.transaction(async (connection) => {
        await identifyBackend(connection, null);
        await renewLease(connection, owner);
        return takeLeases(connection, owner, { envIds, mirroredAt: clock() });
      });
      const summary = await runSync(
        {
          source: world.source(),
          mirrorExists: true,
          openMirror: async () => ({
            state: postgresState(database, {
              ...{ sleep: async () => undefined, random: () => 0 },
              name: mirror.schema,
              clock,
              leases: () => new Map(envIds.map((envId) => [envId, null])),
            }),
            destination: (envId, run) =>
              destinationOf(database, { envId, run, clock, lease: leases.get(envId) ?? null }),
            hold: async () => {},
            flush: async () => {},
            close: async () => {},
          }),
          clock,
          signal: new AbortController().signal,
          onProgress: () => {},
        },
        {
          ...{ ...DECISION_OPTIONS, baseUrl: 'http://world.test', pageSize: 50 },
          ...{ catalogue: CATALOGUE, streams: CATALOGUE, environments: [], concurrency: 1 },
        },
      );
      expect(summary).toMatchObject({ status: 'done', error: null });
      expect(await database.transaction(heldEnvironments)).toEqual(new Set(envIds));
      await database.transaction((connection) => releaseLeases(connection, leases, owner.owner));
      expect(await database.transaction(heldEnvironments)).toEqual(new Set());
      world.advance(3 * HOUR);
    }
    const shown = await database.transaction((connection) =>
      performOn(connection, readStatus({ name: mirror.schema, scopeOf: postgresScope }, clock())),
    );
    expect(shown.environments).toHaveLength(2);
    const starts = (): StateStatements<Map<string, string>> => loadLastStarts(CATALOGUE.map(({ name }) => name));
    expect(await database.transaction((connection) => performOn(connection, starts()))).toHaveProperty('size', 2);
  });
});

/** Statements that read all environments, and why. Citus asks every node for them, so no run sends one. */
const OF_ALL_ENVIRONMENTS: Readonly<Record<string, RegExp>> = {
  'by status: what is pruned': /^select .* from "pruned_history" order by/,
  'by alerts list and snooze: what is open': /^select .* from "alerts" where .*"begun_at" is not null/,
  'by status and by verify: who writes': /^select env_id, lease_owner from mirror_environments/,
};

describe('the statements of all these tests', () => {
  test('each one of a single environment touches one partition, and all the others are listed with a reason', () => {
    const several = [...watch.statements.values()].filter(({ partitions }) => partitions > 1).map(({ text }) => text);
    for (const [reason, pattern] of Object.entries(OF_ALL_ENVIRONMENTS))
      expect(
        several.filter((text) => pattern.test(text)),
        reason,
      ).toHaveLength(1);
    expect(several).toHaveLength(Object.keys(OF_ALL_ENVIRONMENTS).length);
    expect(watch.statements.size).toBeGreaterThan(400);
  });

  test('the coordinator reads no rows before it inserts them, except for pages of many rows', () => {
    const pulled = [...watch.statements.values()].filter((statement) => statement.isPulled).map(({ text }) => text);
    expect(pulled.filter((text) => !/ from unnest\(/.test(text))).toEqual([]);
  });

  test('none uses what Citus refuses', () => {
    expect([...watch.statements.values()].filter(({ refused }) => refused.length > 0)).toEqual([]);
    const oneOnly = [...watch.statements.values()].filter(({ needsOneEnvironment }) => needsOneEnvironment);
    expect(oneOnly.length).toBeGreaterThan(0);
    expect(oneOnly.filter(({ partitions }) => partitions !== 1)).toEqual([]);
  });

  test('none mixes distributed and local tables', () => {
    expect([...watch.statements.values()].filter(({ isMixed }) => isMixed).map(({ text }) => text)).toEqual([]);
  });
});
