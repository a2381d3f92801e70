import { chmodSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { VerifyReport } from '../../src/verify/verify-report.ts';
import { takeLock } from '../../state/lock.ts';
import { type Reply, startApiServer } from '../support/api-server.ts';
import { apiServer, folder, mirrorFile, obsync, refusal, TOKEN } from './setup.ts';

const env = { OBSYNC_TOKEN: TOKEN };

const asset = (id: string) => ({ id, name: id, kind: 'table', source_type: 'dbt', synced_at: '2026-11-01T00:00:00Z' });
const table = { data_platform: 'pg', db_name: 'd', schema_name: 's', table_name: 't', materialization: 'table' };

const LISTS: Record<string, readonly object[]> = {
  assets: [asset('a1'), asset('a2')],
  'assets/tables': [
    { ...asset('a1'), ...table },
    { ...asset('a2'), ...table },
  ],
  columns: ['a1.x', 'a1.y'].map((id) => ({ id, asset_id: 'a1', name: id, synced_at: '2026-11-01T00:00:00Z' })),
  'asset-lineage': [{ upstream_asset_id: 'a1', downstream_asset_id: 'a2' }],
};

/** A service that never changes, with empty feeds. */
function answer(target: string): Reply {
  const { pathname, searchParams: query } = new URL(target, 'http://service');
  const path = pathname.replace('/public/beta/', '').replace('e1/', '');
  const headers = { date: 'Fri, 20 Nov 2026 12:00:00 GMT' };
  if (path === 'environments') return { headers, body: [{ id: 'e1', name: 'Prod' }] };
  if (path === 'asset-health-scores/aggregate') return { headers, body: { matched_count: 2, dimensions: [] } };
  const isFeed = query.has('synced_since') || query.has('deleted_since');
  return { headers, body: { items: isFeed ? [] : (LISTS[path] ?? []), has_more: false } };
}

const api = await startApiServer((request) => answer(request.target));
afterAll(() => api.close());

const template = join(folder(), 'm.db');
beforeAll(async () => {
  const ended = await obsync(['sync', '--base-url', api.url, '--db', template, '--quiet'], { env });
  expect(ended).toEqual({ code: 0, stdout: '', stderr: '' });
});

/** A mirror of the service after its first sync. */
function synced() {
  const db = join(folder(), 'm.db');
  copyFileSync(template, db);
  return { db, where: ['--base-url', api.url, '--db', db] };
}

describe('obsync verify', () => {
  test.each([
    ['a list fails', 'columns', { code: 1, stderr: '' }],
    ['the whole run fails', 'environments', { code: 1, stderr: expect.stringMatching(/^obsync: .*\n$/) }],
  ])('it prints the stack of a failure only with --log-level debug: %s', async (_, path, told) => {
    const { db } = synced();
    const refusing = await apiServer((request) =>
      request.target.includes(path) ? { status: 403, body: {} } : answer(request.target),
    );
    const file = new Database(db);
    file.prepare('update mirror set base_url = ?').run(refusing.url);
    file.close();
    const where = ['--base-url', refusing.url, '--db', db];
    expect(await obsync(['verify', ...where], { env })).toMatchObject(told);
    const debugged = await obsync(['verify', ...where, '--log-level', 'debug'], { env });
    expect(debugged.stderr).toMatch(/^ +at /m);
  });

  test('it says whether the mirror equals the source, names the differences, and repairs them', async () => {
    const { db, where } = synced();
    const before = api.requests.length;
    const counted = await obsync(['verify', ...where, '--depth', 'count'], { env });
    expect(counted).toMatchObject({ code: 0, stderr: '' });
    expect(counted.stdout).toMatch(
      /│ Prod .*not checked: which tables.*the number of tables is the same: 2 tables counted, 2 requests\n$/s,
    );
    expect(api.requests.length - before).toBe(2);

    const file = new Database(db);
    file.exec("delete from columns where id = 'a1.y'; update assets set name = 'wrong' where id = 'a2'");
    file.close();
    const found = await obsync(['verify', ...where, '--json'], { env });
    const report = JSON.parse(found.stdout) as VerifyReport;
    expect({ code: found.code, equal: report.equal, depth: report.depth }).toEqual({
      code: 1,
      equal: false,
      depth: 'rows',
    });
    const NAMES = [{ field: 'name', mirror: 'wrong', source: expect.not.stringMatching('wrong') }];
    expect(report.findings).toMatchObject([
      { env_id: 'e1', stream: 'assets', what: 'unequal', key: { id: 'a2' }, fields: ['name'], values: NAMES },
      { env_id: 'e1', stream: 'columns', what: 'missing', key: { id: 'a1.y' }, fields: [] },
    ]);

    const repaired = await obsync(['verify', ...where, '--repair'], { env });
    expect(repaired).toMatchObject({ code: 0, stderr: '' });
    expect(repaired.stdout).toContain('Prod, columns:\n  missing a1.y (repaired)\n');
    expect(repaired.stdout).toMatch(/the mirror equals the source now: 2 differences repaired, \d+ requests\n$/);
  });

  const recorded = (db: string) => {
    const file = new Database(db, { readonly: true });
    onTestFinished(() => void file.close());
    return file.prepare('select depth, equal, difference_count from verifications order by id').all();
  };

  test('it records the result of a full comparison in the mirror', async () => {
    const { db, where } = synced();
    const verify = (...options: string[]) => obsync(['verify', ...where, ...options], { env });
    await verify('--depth', 'ids');
    const file = new Database(db);
    file.exec("delete from columns where id = 'a1.y'");
    file.close();
    await verify();
    // Partial or interrupted comparisons.
    await verify('--stream', 'assets');
    await verify('--env', 'e1');
    await verify('--max-requests', '1');
    await verify('--repair');
    expect(recorded(db)).toEqual([
      { depth: 'ids', equal: 1, difference_count: 0 },
      { depth: 'rows', equal: 0, difference_count: 1 },
      { depth: 'rows', equal: 1, difference_count: 0 },
    ]);
  });

  test('its exit code is the same if the result cannot be recorded: during a sync, or on a read-only file', async () => {
    const { db, where } = synced();
    const lock = takeLock(db);
    expect(await obsync(['verify', ...where], { env })).toMatchObject({ code: 0, stderr: '' });
    lock.release();
    chmodSync(db, 0o400);
    expect(await obsync(['verify', ...where], { env })).toMatchObject({ code: 0, stderr: '' });
    chmodSync(db, 0o600);
    expect(recorded(db).length).toBe(process.getuid?.() === 0 ? 1 : 0);
  });

  test('it refuses in one line what it cannot compare', async () => {
    const where = ['--base-url', 'https://api.example.com'];
    expect(await obsync(['verify', ...where, '--db', 'none.db'], { env })).toEqual(
      refusal(/none\.db does not exist: make it with `obsync sync`/),
    );
    expect(await obsync(['verify', '--base-url', 'https://other.example.com', '--db', mirrorFile()], { env })).toEqual(
      refusal(/belongs to https:\/\/api\.example\.com/),
    );
  });

  test('it takes the lock only for --repair, and then exits 4 while another process has it (R26)', async () => {
    const before = api.requests.length;
    const db = mirrorFile(undefined, api.url);
    const lock = takeLock(db);
    onTestFinished(() => lock.release());
    const where = ['--base-url', api.url, '--db', db];
    expect(await obsync(['verify', ...where, '--repair'], { env })).toMatchObject({ code: 4, stdout: '' });
    expect(api.requests).toHaveLength(before);
    expect(await obsync(['verify', ...where, '--stream', 'assets'], { env })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('unsynced'),
    });
  });
});
