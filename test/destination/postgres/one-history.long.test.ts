import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SyncError } from '../../../src/core/errors.ts';
import { parseExactly } from '../../../src/core/json.ts';
import type { Destination } from '../../../src/core/ports/destination.ts';
import type { OpenMirror } from '../../../src/core/ports/open-mirror.ts';
import type { Source } from '../../../src/core/ports/source.ts';
import type { Row } from '../../../src/core/stream.ts';
import { instantOfMs } from '../../../src/core/time/instant.ts';
import { createPostgresDestination } from '../../../src/destination/postgres/destination.ts';
import { migratePostgres } from '../../../src/destination/postgres/migrations.ts';
import { postgresState } from '../../../src/destination/postgres/state.ts';
import { createSqliteDestination } from '../../../src/destination/sqlite/destination.ts';
import { openForWriting } from '../../../src/destination/sqlite/open.ts';
import { fileState } from '../../../src/destination/sqlite/open-state.ts';
import { CATALOGUE } from '../../../src/streams/catalogue.ts';
import { runSync } from '../../../src/sync/run.ts';
import { actions, applyAction } from '../../model/actions.ts';
import { populate } from '../../model/populate.ts';
import { createWorld, HOUR, type World } from '../../model/world.ts';
import { type AskMirror, expectSameRows, TABLES, VIEWS } from '../../support/compare-mirrors.ts';
import { DECISION_OPTIONS } from '../../support/decision-options.ts';
import { pgliteConnection, pgliteDatabase } from '../../support/pglite-mirror.ts';

let server: Awaited<ReturnType<typeof pgliteConnection>>;
beforeAll(async () => {
  server = await pgliteConnection();
});
afterAll(() => server.close());

/** The ports of a mirror that uses the world's clock, and its content. */
interface HistoryMirror {
  readonly ports: Omit<OpenMirror, 'flush' | 'close'>;
  readonly ask: AskMirror;
}

function inFile(clock: () => string): HistoryMirror {
  const file = openForWriting(':memory:');
  return {
    ports: {
      state: fileState(file, clock, randomHex),
      destination: (envId, run): Destination => createSqliteDestination(file, { envId, run, clock }),
      hold: async () => {},
    },
    ask: (sql) => file.connection.prepare(sql).all() as Row[],
  };
}

async function inPostgres(clock: () => string, schema: string): Promise<HistoryMirror> {
  await migratePostgres(server, schema);
  const database = pgliteDatabase(server, schema);
  const waiting = { sleep: async () => undefined, random: () => 0 };
  const leases = new Map<string, null>();
  const errorOf = (cause: unknown) => new SyncError('run', String(cause), { cause });
  return {
    ports: {
      state: postgresState(database, {
        ...waiting,
        name: schema,
        clock,
        randomHex,
        leases: () => leases,
      }),
      destination: (envId, run): Destination =>
        createPostgresDestination(database, { ...waiting, envId, run, clock, lease: null, errorOf }),
      hold: async (envIds) => {
        for (const envId of envIds) leases.set(envId, null);
      },
    },
    ask: async (sql) => (await database.transaction((connection) => connection.query(sql))).rows,
  };
}

const ENVIRONMENTS = ['e1', 'e2'];
const randomHex = (): string => 'random';

/** PostgreSQL cannot store U+0000. Other tests cover what it does instead. */
function withoutNul(source: Source): Source {
  return {
    ...source,
    async page(request, onRequest) {
      const page = await source.page(request, onRequest);
      const text = JSON.stringify([...page.items]).replace(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1\ufffd');
      return { ...page, items: parseExactly(text) as unknown[] };
    },
  };
}

/** A random history of a service, and its syncs; the same for the same seed. */
async function live(seed: number, mirrorOf: (clock: () => string) => HistoryMirror | Promise<HistoryMirror>) {
  const world: World = createWorld(ENVIRONMENTS);
  // The actions change the first environment. The second keeps its rows, so each table and view has some to compare.
  for (const envId of ENVIRONMENTS) populate(world.environment(envId));
  const clock = (): string => instantOfMs(world.nowMs);
  const mirror = await mirrorOf(clock);
  // SQLite advances one time for all environments, PostgreSQL one per environment. They are equal while the machine's
  // clock is ahead of both.
  const rising = <Port extends object>(port: Port): Port =>
    Object.fromEntries(
      Object.entries(port).map(([name, method]) => [
        name,
        (...given: unknown[]) => {
          world.nowMs += 1;
          return method(...given);
        },
      ]),
    ) as Port;
  const open: OpenMirror = {
    ...mirror.ports,
    state: rising(mirror.ports.state),
    destination: (envId, run) => rising(mirror.ports.destination(envId, run)),
    flush: async () => {},
    close: async () => {},
  };
  const statuses: string[] = [];
  for (const [number, action] of fc.sample(actions('all'), { seed, numRuns: 60 }).entries()) {
    applyAction(world, action);
    if (number % 5 !== 4) continue;
    world.advance(number % 3 === 0 ? 90 : 7 * HOUR);
    const summary = await runSync(
      {
        source: withoutNul(world.source(number % 4 === 0 ? 30 : undefined)),
        mirrorExists: number > 5,
        openMirror: async () => open,
        clock,
        signal: new AbortController().signal,
        onProgress: () => {},
      },
      {
        baseUrl: 'http://world.test',
        ...DECISION_OPTIONS,
        full: number % 25 === 24,
        pageSize: 3,
        allowShrink: number % 2 === 0,
        catalogue: CATALOGUE,
        streams: CATALOGUE,
        environments: [],
        concurrency: 1,
      },
    );
    statuses.push(summary.status);
  }
  return { ask: mirror.ask, statuses };
}

test.each([2, 5, 9])(
  'one history leaves the same rows in both databases, in every table and view (%i)',
  async (seed) => {
    const file = await live(seed, inFile);
    const postgres = await live(seed, (clock) => inPostgres(clock, `history_${seed}`));
    expect(postgres.statuses).toEqual(file.statuses);
    expect(await file.ask('select 1 as there from asset_health_means limit 1')).toEqual([{ there: 1 }]);
    await expectSameRows(file.ask, postgres.ask, [...TABLES, ...VIEWS], {
      // SQLite reuses a number after its row was deleted.
      seen_pages: ['id'],
    });
  },
);
