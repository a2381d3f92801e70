import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { copy } from '../../src/api/copy.ts';
import { exportOnce } from '../../src/api/export-mirror.ts';
import { writeReport } from '../../src/api/report.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { fillAllTables } from '../support/filled-mirror.ts';
import { type TestSchema, testSchema } from '../support/postgres.ts';

const place = mkdtempSync(join(tmpdir(), 'obsync-removed-'));
const temporary = join(place, 'tmp');
let there: TestSchema;

beforeAll(async () => {
  mkdirSync(temporary);
  const { connection } = openForWriting(join(place, 'm.db'));
  fillAllTables(connection, () => 20);
  connection.close();
  there = await testSchema();
  await copy({ db: join(place, 'm.db'), to: there.url });
  vi.stubEnv('TMPDIR', temporary);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await there.drop();
  rmSync(place, { recursive: true });
});

const settings = (tables: readonly string[] = []) => ({
  db: there.url,
  to: join(place, 'lake'),
  format: 'ndjson' as const,
  tables,
  views: false,
  environments: [],
  keep: 1,
  targetSize: 8,
});

test('commands that read a temporary copy of a PostgreSQL mirror remove it when they finish, fail or are stopped', async () => {
  const watch = { signal: new AbortController().signal, onProgress: () => {} };
  const seen: string[] = [];
  const watching = { ...watch, onProgress: () => void seen.push(...readdirSync(temporary)) };
  expect(await exportOnce(settings(), watching)).toMatchObject({ rows: expect.any(Number) });
  expect(seen.length).toBeGreaterThan(0);
  expect(readdirSync(temporary)).toEqual([]);
  await expect(exportOnce(settings(['none']), watch)).rejects.toMatchObject({ recovery: 'usage' });
  expect(readdirSync(temporary)).toEqual([]);
  await expect(exportOnce(settings(), { ...watch, signal: AbortSignal.abort() })).rejects.toMatchObject({
    recovery: 'signal',
    message: 'stopped before the mirror was copied: nothing was changed',
  });
  expect(readdirSync(temporary)).toEqual([]);
  await writeReport({ db: there.url, to: join(place, 'report.html') }).catch(() => {});
  expect(readdirSync(temporary)).toEqual([]);
});
