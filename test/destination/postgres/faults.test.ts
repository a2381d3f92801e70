import { setTimeout as sleepFor } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import { decodePage } from '../../../src/core/decode/decode.ts';
import type { Destination, PageCommit } from '../../../src/core/ports/destination.ts';
import { reconcile } from '../../../src/core/schedule/environments.ts';
import { serverError } from '../../../src/destination/postgres/server-error.ts';
import { postgresState } from '../../../src/destination/postgres/state.ts';
import type { PostgresTransaction } from '../../../src/destination/postgres/transaction.ts';
import { handled, type PostgresDatabase } from '../../../src/destination/postgres/transaction.ts';
import { STREAM_NAMES } from '../../../src/streams/catalogue.ts';
import { streamOf } from '../../core/setup.ts';
import { column, START } from '../../support/conformance/workbench.ts';
import { cuttingProxy } from '../../support/postgres/cutting-proxy.ts';
import type { TestSchema } from '../../support/postgres.ts';
import { destinationOf, migratedMirror, openedAt } from './setup.ts';

let place: TestSchema;
let database: PostgresDatabase;
beforeEach(async () => {
  ({ place, database } = await migratedMirror());
});

function on(mirror: PostgresDatabase, envId: string): Destination {
  return destinationOf(mirror, { envId, sleep: (ms) => sleepFor(ms), random: () => 0.02 });
}

const columns = streamOf('columns');

/** A page with items of every kind. */
const PAGE: PageCommit = {
  kind: 'page',
  checkpoint: { ...NO_PROGRESS, watermark: START },
  changes: decodePage(columns, [column('a'), column('b')]).rows.map(({ row }) => ({ kind: 'inserted', row })),
  marks: [{ stream: 'column_lineage', id: 'a' }],
  seen: { keys: [['a'], ['b']], readNumber: 1 },
  returnedKeys: [['a'], ['b']],
  rejected: [{ key: null, rowKey: '7', reason: 'not an object', payload: '7' }],
};

const show = (mirror: PostgresDatabase, envId: string) =>
  on(mirror, envId).commit(columns, PAGE, new Set(STREAM_NAMES));

/** The mirror's rows of an environment. */
async function held(envId: string): Promise<unknown> {
  const tables = ['columns', 'marks', 'rejected_rows', 'sync_checkpoints', 'mirror_environments'];
  const rows = tables.map((table) => place.ask(`select * from ${table} where env_id = '${envId}' order by 1, 2, 3`));
  const pages = place.ask(`select stream, read_number, keys from seen_pages where env_id = '${envId}'`);
  return JSON.parse(JSON.stringify(await Promise.all([...rows, pages])).replaceAll(`"${envId}"`, '"e"'));
}

/** Terminates the connection of a commit before its statement with this number, once. */
function endedBefore(number: number): { mirror: PostgresDatabase; statements: () => number } {
  let count = 0;
  let last: Promise<unknown> = Promise.resolve();
  const mirror: PostgresDatabase = {
    ...database,
    transaction: (work, use) =>
      database.transaction(async (connection) => {
        const sent: Promise<unknown>[] = [];
        const query: PostgresTransaction['query'] = (sql, values) => {
          count += 1;
          const isDue = count === number;
          const answer = last.then(async () => {
            if (isDue) {
              const { rows } = await connection.query('select pg_backend_pid() as pid', []);
              await place.ask(`select pg_terminate_backend(${rows[0]?.['pid']}, 5000)`);
            }
            return connection.query(sql, values);
          });
          last = answer.catch(() => undefined);
          return answer;
        };
        const done = await work({ query, send: (sql, values) => void sent.push(handled(query(sql, values))) });
        await Promise.all(sent);
        return done;
      }, use),
  };
  return { mirror, statements: () => count };
}

describe('a commit whose connection is lost', () => {
  test('before any of its statements, it is retried with the same result as if nothing had failed (R5)', async () => {
    const whole = endedBefore(0);
    const result = await show(whole.mirror, 'whole');
    const expected = await held('whole');
    expect(whole.statements()).toBeGreaterThan(8);
    for (let number = 1; number <= whole.statements(); number += 1) {
      expect(await show(endedBefore(number).mirror, `e${number}`)).toEqual(result);
      expect(await held(`e${number}`), `statement ${number}`).toEqual(expected);
    }
  });

  test.each(['before', 'after'] as const)('just %s it takes effect, it is applied exactly once (R5)', async (when) => {
    const result = await show(database, 'whole');
    const proxy = await cuttingProxy(place.serverUrl);
    onTestFinished(() => proxy.close());
    const through = openedAt(proxy.url, place);
    await on(through, 'e').load(streamOf('columns'));
    const cuts = proxy.cut('commit', when);
    expect(await show(through, 'e')).toEqual(result);
    expect(cuts()).toBe(1);
    // A commit that was applied twice would have advanced the clock twice.
    expect(await held('e')).toEqual(await held('whole'));
  });
});

test('after the server has lost an acknowledged commit, as in a failover, a run commits nothing more, and the next one does', async () => {
  const destination = on(database, 'e');
  const commit = () => destination.commit(columns, PAGE, new Set(STREAM_NAMES));
  await commit();
  const clock = async () =>
    String((await place.ask('select mirrored_at from mirror_environments'))[0]?.['mirrored_at']);
  const before = await clock();
  await commit();
  await place.ask(`update mirror_environments set mirrored_at = '${before}'`);
  const lost = { recovery: 'run', message: expect.stringContaining('has lost commits to environment e') };
  await expect(commit()).rejects.toMatchObject(lost);
  expect(await clock()).toBe(before);
  await show(database, 'e');
});

test('environments whose clocks cannot be reached are saved by a later run, unless this run reads them', async () => {
  const waiting = { sleep: async () => undefined, random: () => 0 };
  const errorOf = (error: unknown): unknown => serverError('the mirror', error);
  const options = { ...waiting, name: 'the mirror', clock: () => START, leases: () => new Map(), errorOf };
  const state = postgresState(database, options);
  const saved = async () => (await state.environments()).map(({ id }) => id);
  const found = reconcile(
    [
      { id: 'far', name: 'far' },
      { id: 'near', name: 'near' },
    ],
    [],
    START,
  );
  await place.ask(`create function unreachable() returns trigger language plpgsql as
      $$ begin raise exception 'the node is down' using errcode = 'connection_failure'; end $$;
    create trigger unreachable before insert on mirror_environments for each row
      when (new.env_id = 'far') execute function unreachable()`);
  await expect(state.saveEnvironments(found, 1)).rejects.toMatchObject({ recovery: 'run' });
  await expect(state.saveEnvironments(found, 1, ['far'])).rejects.toMatchObject({ recovery: 'run' });
  expect(await saved()).toEqual([]);
  await state.saveEnvironments(found, 1, ['near']);
  expect(await saved()).toEqual(['near']);
  await place.ask('drop trigger unreachable on mirror_environments');
  await state.saveEnvironments(found, 2, ['near']);
  expect(await saved()).toEqual(['far', 'near']);
});
