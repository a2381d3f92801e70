import { describe, expect, test } from 'vitest';
import { shareReads } from '../../../src/destination/postgres/shared-reads.ts';
import type { PostgresTransaction, TransactionWork } from '../../../src/destination/postgres/transaction.ts';
import { testSchema } from '../../support/postgres.ts';
import { openedAt } from './setup.ts';

/** Reads that share transactions, each of which begins only when the returned function is called. */
function recorded() {
  const begun: string[][] = [];
  const waiting: (() => void)[] = [];
  const read = shareReads(async (work) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    const asked: string[] = [];
    begun.push(asked);
    const inside: PostgresTransaction = {
      async query(text) {
        asked.push(text);
        return { rows: [{ text }], changes: 0 };
      },
      send: () => {},
    };
    await work(inside);
  });
  return { read, begun, begin: () => waiting.shift()?.() };
}

const asking =
  (text: string): TransactionWork<unknown> =>
  async (inside) =>
    (await inside.query(text)).rows[0]?.['text'];

describe('reads', () => {
  test('that wait at the same time share one transaction, and ask the same only once', async () => {
    const { read, begun, begin } = recorded();
    const reads = ['select 1', 'select 2', 'select 1'].map((text) => read(asking(text)));
    begin();
    expect(await Promise.all(reads)).toEqual(['select 1', 'select 2', 'select 1']);
    const later = read(asking('select 1'));
    begin();
    await later;
    expect(begun).toEqual([['select 1', 'select 2'], ['select 1']]);
  });

  test('that wait for a connection which cannot be opened all fail, and later ones try again', async () => {
    let isDown = true;
    const inside = { query: async () => ({ rows: [{ text: 'up' }], changes: 0 }), send: () => {} };
    const read = shareReads(async (work) => {
      if (isDown) throw new RangeError('down');
      await work(inside);
    });
    const both = await Promise.allSettled([read(asking('select 1')), read(asking('select 2'))]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isDown = false;
    expect(await read(asking('select 1'))).toBe('up');
  });

  test('of which one fails don’t fail with it: they are repeated', async () => {
    const place = await testSchema();
    const database = openedAt(place.serverUrl, place);
    const read = (sql: string) => database.transaction(async (inside) => (await inside.query(sql)).rows, 'read');
    const [first, failing, last] = await Promise.allSettled([
      read('select 1 as n'),
      read('select 1 / 0 as n'),
      read('select 2 as n'),
    ]);
    expect(first).toMatchObject({ value: [{ n: 1 }] });
    expect(failing).toMatchObject({ reason: { code: '22012' } });
    expect(last).toMatchObject({ value: [{ n: 2 }] });
    await place.drop();
  });
});
