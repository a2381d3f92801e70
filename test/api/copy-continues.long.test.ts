import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { copy } from '../../src/api/copy.ts';
import { query } from '../../src/api/query.ts';
import { serve } from '../../src/api/serve.ts';
import { sync } from '../../src/api/sync.ts';
import { openSampleSource } from '../../src/demo/sample-source.ts';
import { COPIED_TABLES } from '../../src/destination/sql/copied-tables.ts';
import { temporarySchema } from '../support/postgres.ts';
import { testFolder } from '../support/test-folder.ts';

const TOKEN = 'a-token-of-the-tests';

/** Columns that differ between runs: the times by three clocks, the remaining quota, and the nonce. */
const OF_A_RUN =
  /^((mirrored|rows_removed|scores|read)_at|(started|ended|server|scanned|scan_ended|quota_noted)_(at|time)|watermark|nonce|quota_(remaining|reset_seconds))$/;

/** Every row of every table, without the columns in `left`. */
async function allRows(db: string, left = /^$/): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {};
  for (const { name, columns } of COPIED_TABLES) {
    const named = columns.filter((column) => !left.test(column)).map((column) => `"${column}"`);
    const rows: string[] = [];
    for await (const row of await query({ db, sql: `select ${named.join(', ')} from ${name}` }))
      rows.push(JSON.stringify(row, inFewerDigits));
    found[name] = rows.sort();
  }
  return found;
}

/** Each database sums up a mean in its own order, so results differ in the last digits. */
const inFewerDigits = (_: string, value: unknown) =>
  typeof value === 'number' ? Number(value.toPrecision(14)) : value;

test('a sync into a copy, in PostgreSQL or a file, continues where the mirror was, with the same requests and rows', async () => {
  const place = testFolder();
  const source = openSampleSource();
  onTestFinished(() => source.close());
  const server = await serve({ db: source.path, token: TOKEN, port: 0, rateLimit: 'off' });
  onTestFinished(() => server.close());
  const there = await temporarySchema();
  const [from, back] = [join(place, 'from.db'), join(place, 'back.db')];
  const service = { baseUrl: server.url, token: TOKEN, history: true };
  expect(await sync({ ...service, db: from })).toMatchObject({ status: 'done' });
  // During a cycle, so there are unfinished rounds too.
  source.change('hour');
  expect(await sync({ ...service, db: from, full: true, pageSize: 50, maxRequests: 12 })).toMatchObject({
    recovery: 'budget',
  });
  await copy({ db: from, to: there.url });
  await copy({ db: there.url, to: back });
  const before = await allRows(from);
  expect(await allRows(there.url)).toEqual(before);
  expect(await allRows(back)).toEqual(before);
  const runs = [];
  for (const db of [from, there.url, back]) runs.push(await sync({ ...service, db, full: true, pageSize: 50 }));
  const told = runs.map(({ status, requests, rows_written, rows_deleted, streams }) => ({
    status,
    requests,
    rows_written,
    rows_deleted,
    streams: streams.map(({ stream, mode, reason, pages }) => ({ stream, mode, reason, pages })),
  }));
  expect(told[0]).toMatchObject({ status: 'done' });
  expect(told[1]).toEqual(told[0]);
  expect(told[2]).toEqual(told[0]);
  const after = await allRows(from, OF_A_RUN);
  expect(await allRows(there.url, OF_A_RUN)).toEqual(after);
  expect(await allRows(back, OF_A_RUN)).toEqual(after);
});
