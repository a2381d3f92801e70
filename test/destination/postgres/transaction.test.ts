import { Client, DatabaseError } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LEASE_MS } from '../../../src/core/schedule/lease.ts';
import { LostConnection, UnknownOutcome } from '../../../src/destination/postgres/lost-connection.ts';
import { openPool, type PostgresPool } from '../../../src/destination/postgres/pool.ts';
import { type RetryWaiting, writeOnce } from '../../../src/destination/postgres/retry.ts';
import type { PostgresConnection } from '../../../src/destination/postgres/transaction.ts';
import {
  inTransaction,
  type PostgresDatabase,
  type TransactionUse,
  type TransactionWork,
} from '../../../src/destination/postgres/transaction.ts';
import { type TestSchema, testSchema } from '../../support/postgres.ts';

let place: TestSchema;
let pool: PostgresPool;
beforeEach(async () => {
  place = await testSchema();
  pool = openPool({ client: { connectionString: place.serverUrl }, schema: place.schema, maxConnections: 2 });
  await place.ask(`create schema ${place.schema}; create table ${place.schema}.notes (id text primary key)`);
});
afterEach(async () => {
  await pool.close();
  await place.drop();
});

const notes = (): Promise<unknown> => place.ask('select id from notes order by id');

describe('a transaction', () => {
  test.each<TransactionUse>(['read', 'read-and-note', 'write', 'write-once'])(
    'to %s commits what was sent without waiting, in the order it was sent',
    async (use) => {
      const found = await pool.transaction(async (inside) => {
        inside.send(`insert into ${place.schema}.notes values ('a')`);
        inside.send('update notes set id = id || $1', ['b']);
        return (await inside.query('select id from notes')).rows;
      }, use);
      expect(found).toEqual([{ id: 'ab' }]);
      // The same connections, so the first one has ended before.
      await pool.transaction((inside) => inside.query('select 1'));
      expect(await notes()).toEqual([{ id: 'ab' }]);
    },
  );

  test.each<[string, TransactionWork<unknown>]>([
    ['nothing comes after it', async (inside) => inside.send('insert into nowhere values (1)')],
    [
      'statements come after it',
      async (inside) => {
        inside.send('insert into nowhere values (1)');
        inside.send(`insert into ${place.schema}.notes values ('late')`);
        return inside.query('select id from notes', []);
      },
    ],
  ])(
    'it is rolled back when a statement fails that nobody awaits, and %s: that failure is the reason',
    async (_, work) => {
      const failing: TransactionWork<unknown> = (inside) => {
        inside.send(`insert into ${place.schema}.notes values ('early')`);
        return work(inside);
      };
      await expect(pool.transaction(failing)).rejects.toMatchObject({ code: '42P01' });
      expect(await notes()).toEqual([]);
      // The connection stays usable.
      await pool.transaction((inside) => inside.query(`insert into ${place.schema}.notes values ('next')`));
      expect(await notes()).toEqual([{ id: 'next' }]);
    },
  );

  test('statements run in the order they were sent, whatever is awaited', async () => {
    for (let i = 0; i < 20; i += 1) {
      const found = await pool.transaction(async (inside) => {
        const first = inside.query("select 'a' as id");
        inside.send('create temporary table letters (n int generated always as identity, id text) on commit drop');
        inside.send("insert into letters (id) values ('a')");
        await first;
        inside.send("insert into letters (id) values ('b')");
        return (await inside.query("select string_agg(id, '' order by n) as ids from letters")).rows;
      });
      expect(found).toEqual([{ ids: 'ab' }]);
    }
  });

  test.each<[string, TransactionWork<unknown>]>([
    [
      'before it has sent anything',
      () => {
        throw new RangeError('wrong');
      },
    ],
    [
      'after it has written',
      async (inside) => {
        await inside.query("insert into notes values ('a')");
        throw new RangeError('wrong');
      },
    ],
  ])('it is rolled back when its work fails %s', async (_, work) => {
    await expect(pool.transaction(work)).rejects.toThrow(RangeError);
    expect(await notes()).toEqual([]);
    await pool.transaction((inside) => inside.query("insert into notes values ('next')"));
    expect(await notes()).toEqual([{ id: 'next' }]);
  });

  test.each<[string, TransactionWork<unknown>]>([
    ['the work ignores', async (inside) => inside.query('insert into nowhere values (1)').catch(() => null)],
    [
      'makes later statements fail',
      async (inside) => {
        const first = inside.query('insert into nowhere values (1)');
        inside.send("insert into notes values ('b')");
        await Promise.allSettled([first]);
        return inside.query('select 1');
      },
    ],
  ])('it fails with the first failure, even one that %s', async (_, work) => {
    await expect(pool.transaction(work)).rejects.toMatchObject({ code: '42P01' });
    expect(await notes()).toEqual([]);
  });

  test('a statement that the driver refuses to send rolls the whole transaction back', async () => {
    const refused = {
      toPostgres() {
        throw new RangeError('wrong');
      },
    };
    const work: TransactionWork<unknown> = async (inside) => {
      await inside.query("insert into notes values ('one')");
      inside.send('insert into notes values ($1)', [refused]);
      inside.send('insert into notes values ($1)', ['three']);
    };
    await expect(pool.transaction(work)).rejects.toThrow();
    expect(await notes()).toEqual([]);
    await pool.transaction((inside) => inside.query("insert into notes values ('next')"));
    expect(await notes()).toEqual([{ id: 'next' }]);
  });

  test('statements that nobody awaits still form one transaction', async () => {
    await pool.transaction(async (inside) => inside.send("insert into notes values ('a')"));
    expect(await notes()).toEqual([{ id: 'a' }]);
  });

  test.each<TransactionUse>(['write', 'write-once'])(
    'to %s that only reads takes one round trip: nothing waits for its beginning or its commit',
    async (use) => {
      const asked: string[] = [];
      const connection: PostgresConnection = {
        query(text) {
          asked.push(text);
          return text === 'commit' ? new Promise(() => {}) : Promise.resolve({ rows: [], changes: 0 });
        },
      };
      const begun = inTransaction(connection, { schema: place.schema, use }, async (inside) => {
        await Promise.all([inside.query('select 1'), inside.query('select 2 for update')]);
      });
      expect(asked.map((text) => text.split(' isolation')[0])).toEqual(['begin', 'select 1', 'select 2 for update']);
      await begun;
      expect(asked.at(-1)).toBe('commit');
    },
  );

  test('if it cannot begin, a read that the server answered anyway fails with the reason', async () => {
    const cancelled = new DatabaseError('canceling statement due to user request', 0, 'error');
    const connection: PostgresConnection = {
      async query(text) {
        if (text.startsWith('begin')) throw cancelled;
        return { rows: [], changes: 0 };
      },
    };
    const seen: unknown[] = [];
    const work: TransactionWork<unknown> = (inside) => inside.query('select 1').then((answer) => seen.push(answer));
    await expect(inTransaction(connection, { schema: place.schema, use: 'read' }, work)).rejects.toBe(cancelled);
    expect(seen).toEqual([]);
  });

  test('if it cannot begin, nothing that writes is sent', async () => {
    const asked: string[] = [];
    const cancelled = new DatabaseError('canceling statement due to user request', 0, 'error');
    const connection: PostgresConnection = {
      async query(text) {
        asked.push(text);
        if (text.startsWith('begin')) throw cancelled;
        return { rows: [], changes: 0 };
      },
    };
    const work: TransactionWork<unknown> = async (inside) => {
      await inside.query('select 1');
      inside.send(`insert into ${place.schema}.notes values ('a')`);
      return inside.query(`insert into ${place.schema}.notes values ('b')`);
    };
    const works = [work, async (inside) => inside.send('delete from notes')] satisfies TransactionWork<unknown>[];
    for (const each of works)
      await expect(inTransaction(connection, { schema: place.schema }, each)).rejects.toBe(cancelled);
    expect(asked.filter((text) => /insert|delete/.test(text))).toEqual([]);
  });
});

/** Loses the connection at a commit, and with `also` at that statement too, whose result is not awaited. */
const losing = (connection: PostgresConnection, also: string): PostgresConnection => ({
  async query(text, values) {
    const answer = await connection.query(text, values);
    if (text === 'commit' || text === also) throw new LostConnection('cut');
    return answer;
  },
});

test.each(['', 'select 2'])(
  'a lost commit answer leaves the outcome of a write unknown, but doesn’t fail a read (%j)',
  async (also) => {
    const inserting = (use: TransactionUse, id: string) =>
      pool.session((connection) =>
        inTransaction(losing(connection, also), { schema: place.schema, use }, async (inside) => {
          await inside.query(`insert into ${place.schema}.notes values ('${id}')`);
          if (also !== '') inside.send(also);
        }),
      );
    await expect(inserting('write', 'a')).rejects.toMatchObject({ transaction: null });
    const unknown: unknown = await inserting('write-once', 'b').catch((error: unknown) => error);
    expect(unknown).toBeInstanceOf(UnknownOutcome);
    expect((unknown as UnknownOutcome).transaction).toMatch(/^\d+$/);
    if (also === '') await inserting('read-and-note', 'c');
  },
);

test('a transaction whose connection was lost is retried only after the server has rolled it back', async () => {
  const cut = new Client({ connectionString: place.serverUrl });
  await cut.connect();
  const waits: number[] = [];
  let isCut = false;
  const database: PostgresDatabase = {
    ...pool,
    async transaction(work, use) {
      if (isCut || use !== 'write-once') return pool.transaction(work, use);
      isCut = true;
      await cut.query(`begin; set local search_path to ${place.schema}`);
      const { rows } = await cut.query('select pg_current_xact_id()::text as transaction');
      await cut.query("insert into notes values ('a')");
      await work({ query: async () => ({ rows: [], changes: 0 }), send: () => {} });
      throw new UnknownOutcome(null, rows[0].transaction);
    },
  };
  const waiting: RetryWaiting = {
    random: () => 0,
    async sleep(ms) {
      waits.push(ms);
      // The server notices after half a minute.
      if (waits.reduce((sum, each) => sum + each, 0) >= LEASE_MS) await cut.query('rollback');
    },
  };
  await writeOnce(database, waiting, (inside) => inside.query("insert into notes values ('a')"));
  expect(waits.length).toBeGreaterThan(7);
  expect(await notes()).toEqual([{ id: 'a' }]);
  await cut.end();
});
