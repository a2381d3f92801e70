import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSampleSource } from '../../src/demo/sample-source.ts';
import { COPIED_TABLES } from '../../src/destination/sql/copied-tables.ts';
import { copy } from '../../src/library/copy.ts';
import { queryStream } from '../../src/library/query-stream.ts';
import { serve } from '../../src/library/serve.ts';
import { sync } from '../../src/library/sync.ts';
import { testSchema } from '../support/postgres.ts';

const TOKEN = 'a-token-of-the-tests';

/** What a sync mirrors, without the times that are each mirror's own. */
const MIRRORED = COPIED_TABLES.filter(
  ({ name, columns }) => columns.some((column) => column.name === 'mirrored_at') && name !== 'mirror_environments',
).map(({ name, key, columns }) => ({
  name,
  key,
  columns: columns.map((column) => column.name).filter((column) => !/^(mirrored_at|read_at|quota_)/.test(column)),
}));

async function mirroredRows(db: string): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {};
  for (const { name, key, columns } of MIRRORED) {
    const rows: unknown[] = [];
    const sql = `select ${columns.join(', ')} from ${name} order by ${key.join(', ') || columns.join(', ')}`;
    for await (const row of await queryStream({ db, sql })) rows.push(row);
    found[name] = rows;
  }
  return found;
}

test('a sync into a copy goes on where the mirror was, with the same requests and the same rows, in PostgreSQL and in a file', async () => {
  const place = mkdtempSync(join(tmpdir(), 'obsync-goes-on-'));
  onTestFinished(() => rmSync(place, { recursive: true }));
  const source = openSampleSource();
  onTestFinished(() => source.close());
  const server = await serve({ db: source.path, token: TOKEN, port: 0, rateLimit: 'off' });
  onTestFinished(() => server.close());
  const there = await testSchema();
  onTestFinished(() => there.drop());
  const [from, back] = [join(place, 'from.db'), join(place, 'back.db')];
  const service = { baseUrl: server.url, token: TOKEN, history: true };
  expect(await sync({ ...service, db: from })).toMatchObject({ status: 'done' });
  // In the middle of a cycle, so that there are unfinished rounds as well.
  source.change('hour');
  expect(await sync({ ...service, db: from, full: true, pageSize: 50, maxRequests: 12 })).toMatchObject({
    recovery: 'budget',
  });
  await copy({ db: from, to: there.url });
  await copy({ db: there.url, to: back });
  const before = await mirroredRows(from);
  expect(await mirroredRows(there.url)).toEqual(before);
  expect(await mirroredRows(back)).toEqual(before);
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
  const after = await mirroredRows(from);
  expect(await mirroredRows(there.url)).toEqual(after);
  expect(await mirroredRows(back)).toEqual(after);
});
