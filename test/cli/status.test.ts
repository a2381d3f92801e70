import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { assets, environments } from '../../schema/assets.ts';
import { testExecutions } from '../../schema/data-tests.ts';
import { prunedHistory } from '../../schema/histories.ts';
import { heldRemovals, marks, rejectedRows, syncRuns, syncStreamRuns } from '../../schema/sync.ts';
import type { StatusReport, StreamReportStatus } from '../../src/api/status-report.ts';
import { NO_PROGRESS, type Round } from '../../src/core/checkpoint.ts';
import { newRound } from '../../src/core/decide/round.ts';
import { addSeconds, instantOfMs } from '../../src/core/time/instant.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { takeLock } from '../../state/lock.ts';
import { saveCheckpoint } from '../support/save-checkpoint.ts';
import { folder, MAIN, mirrorFile, NODE, obsync, refusal } from './setup.ts';

const T = '2026-11-20T04:10:00.000000Z';
const EARLIER = '2026-11-19T04:10:00.000000Z';

const EXECUTION = { sub_test_unique_id: 't1', sub_type: 'generic', status: 'PASS', start_time: T, duration_seconds: 1 };

/** A mirror of two environments with many problems. */
function fill({ db }: MirrorFile): void {
  const bare = { mirrored_at: T };
  db.insert(environments)
    .values([
      { id: 'e1', name: 'Production', cron: '0 */4 * * *', ...bare },
      { id: 'e2', name: 'Staging', missing_since: EARLIER, ...bare },
    ])
    .run();
  db.insert(assets)
    .values([
      { env_id: 'e1', id: 'a1', kind: 'table', ...bare },
      { env_id: 'e1', id: 'a2', kind: 'bi', ...bare },
      { env_id: 'e1', id: 'a3', kind: 'table', deleted_at: T, deletion: 'tombstone', ...bare },
      { env_id: 'e2', id: 'a1', kind: 'table', ...bare },
    ])
    .run();
  // Without --history, only the latest results are in it.
  db.insert(testExecutions)
    .values({ env_id: 'e1', id: 'x1', test_id: 't1', ...EXECUTION, ...bare })
    .run();
  db.insert(syncRuns)
    .values([
      { cycle_id: 1, status: 'done', started_at: EARLIER, ended_at: EARLIER, requests: 40, rows_written: 4 },
      { cycle_id: 2, status: 'problems', started_at: T, ended_at: T, requests: 7, error: 'the service is away' },
      // A repair does not count as a sync.
      { cycle_id: 3, command: 'verify', status: 'done', started_at: T, ended_at: T },
    ])
    .run();
  const counts = { requests: 1, pages: 1, rows_written: 0, rows_deleted: 0, rows_rejected: 0, rows_late: 0 };
  const times = { started_at: T, ended_at: T };
  db.insert(syncStreamRuns)
    .values([
      { run_id: 1, env_id: 'e1', stream: 'assets', mode: 'scan', reason: 'first', status: 'done', ...counts, ...times },
      {
        run_id: 2,
        env_id: 'e1',
        stream: 'assets',
        mode: 'scan',
        reason: 'clamp',
        status: 'held',
        ...counts,
        ...times,
        error: 'one removal is held back',
      },
      {
        run_id: 2,
        env_id: 'e1',
        stream: 'columns',
        mode: 'feed',
        reason: 'increment',
        status: 'failed',
        ...counts,
        ...times,
        error: 'GET …: answered 500',
      },
    ])
    .run();
  const pruned = { env_id: 'e1', pruned_through: '', mirrored_at: T };
  db.insert(prunedHistory)
    .values([
      { ...pruned, history: 'asset_health_score_history', action: 'thin', row_count: 7 },
      { ...pruned, history: 'test_executions', action: 'delete', complete_before: EARLIER, row_count: 1 },
    ])
    .run();
  saveCheckpoint(db, 'e1', 'assets', { ...NO_PROGRESS, watermark: T, scanEndedAt: T, scanDue: 'refuted' });
  saveCheckpoint(db, 'e1', 'columns', { ...NO_PROGRESS, watermark: EARLIER, round: ROUND });
  saveCheckpoint(db, 'e1', 'tests', { ...NO_PROGRESS, unavailable: true });
  db.insert(heldRemovals).values({ env_id: 'e1', stream: 'assets', key_1: 'a1', key_2: '', absent_at: T }).run();
  db.insert(rejectedRows)
    .values({ run_id: 2, env_id: 'e1', stream: 'tests', row_key: 't1', reason: 'no id', payload: '{}', seen_at: T })
    .run();
  db.insert(marks)
    .values([
      { env_id: 'e1', stream: 'table_assets', id: 'a1', number: 1 },
      { env_id: 'e1', stream: 'table_assets', id: 'a3', number: 2 },
    ])
    .run();
}

const ROUND: Round = {
  ...newRound({ mode: 'feed', reason: 'increment', steps: [] }, { run: 2, cycle: 2 }, { hasRows: true, lastMark: 0 }),
  pages: 12,
  firstPageAt: T,
};

async function report(db: string): Promise<StatusReport> {
  const { code, stdout, stderr } = await obsync(['status', '--db', db, '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as StatusReport;
}

describe('obsync status --json', () => {
  test('it prints one document with the last run, and each environment with its streams and problems', async () => {
    const status = await report(mirrorFile(fill));
    expect(status).toMatchObject({ base_url: 'https://api.example.com', environments_rejected: 0 });
    expect(status.last_run).toMatchObject({ run: 2, status: 'problems', error: 'the service is away', requests: 7 });
    expect(status.environments).toMatchObject([
      { env_id: 'e1', environment: 'Production', cron: '0 */4 * * *', missing_since: null },
      { env_id: 'e2', environment: 'Staging', cron: null, missing_since: EARLIER },
    ]);
    const streams = new Map<string, StreamReportStatus>(
      status.environments[0]?.streams.map((each) => [each.stream, each]),
    );
    expect(streams.get('assets')).toMatchObject({
      rows: 2,
      watermark: T,
      scan_due: 'refuted',
      rows_held: 1,
      last_run: { run_id: 2, mode: 'scan', reason: 'clamp', status: 'held', error: 'one removal is held back' },
    });
    expect(streams.get('assets')?.watermark_age_seconds).toBeGreaterThan(0);
    expect(streams.get('table_assets')).toMatchObject({ rows: 1, marks: 1, watermark: null, last_run: null });
    expect(streams.get('columns')).toMatchObject({
      rows: 0,
      under_way: { mode: 'feed', reason: 'increment', since: T, pages: 12 },
      last_run: { status: 'failed', error: 'GET …: answered 500' },
    });
    expect(streams.get('tests')).toMatchObject({ unavailable: true, rows_rejected: 1 });
  });

  test('it reports a mirror without a run', async () => {
    expect(await report(mirrorFile())).toMatchObject({ last_run: null, environments: [] });
  });
});

describe('obsync status as text', () => {
  test('it says the same in words and exits 0', async () => {
    const { code, stdout, stderr } = await obsync(['status', '--db', mirrorFile(fill)]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const words of [
      /run 2 ended with problems; it ended .* ago \(2026-11-20 04:10:00 UTC\): 0 rows written, 0 deleted, 7 requests\nthe service is away/,
      /Production \(e1\), cron 0 \*\/4 \* \* \*\n┌/,
      /│ assets +│ +2 │ 2026-11-20 04:10:00 UTC │ .* │ held +│ scan \(clamp\)/,
      /│ bi_assets +│ +1 │ +│/,
      /│ tests +│ +0 │ +│ never/,
      /│ test_executions +│ +1 │ +│ +│ +│ latest only +│/,
      / {2}assets: 1 deletion held back: .*--allow-shrink/,
      / {2}assets: the next run scans it in full \(refuted\)/,
      / {2}table_assets: 1 follow-up read pending/,
      / {2}columns: a feed, started .* ago \(2026-11-20 04:10:00 UTC\), stopped after 12 pages; the next run continues it/,
      / {2}columns: failed: GET …: answered 500/,
      / {2}tests: unavailable/,
      / {2}tests: 1 row rejected: see the table rejected_rows/,
      / {2}asset_health_score_history: thinned to one a day; not finished, 7 rows removed/,
      / {2}test_executions: pruned before 2026-11-19, 1 row removed/,
      /Staging \(e2\), not listed by the source since 2026-11-19 04:10:00 UTC/,
    ]) {
      expect(stdout).toMatch(words);
    }
  });

  test('in a pipe it is as wide as COLUMNS says, if that is a number', async () => {
    const db = mirrorFile(fill);
    const widest = async (COLUMNS: string) => {
      const { stdout } = await obsync(['status', '--db', db], { env: { COLUMNS } });
      return Math.max(...stdout.split('\n').map((line) => line.length));
    };
    expect(await widest('x')).toBeGreaterThan(100);
    expect(await widest('72')).toBeLessThanOrEqual(72);
  });
});

test('status says when the next scan of each stream is due by --full-every of the last sync (R13)', async () => {
  const halfAnHourAgo = instantOfMs(Date.now() - 1_800_000);
  const scanned = { ...NO_PROGRESS, watermark: halfAnHourAgo, scanEndedAt: halfAnHourAgo };
  const file = (full_every: string) =>
    mirrorFile(({ db }) => {
      db.insert(environments).values({ id: 'e1', name: 'Production', mirrored_at: T }).run();
      const run = { cycle_id: 1, started_at: T, ended_at: T, status: 'done' } as const;
      // A run that ended before it read anything says nothing.
      db.insert(syncRuns)
        .values([
          { ...run, full_every },
          { ...run, status: 'refused' },
        ])
        .run();
      saveCheckpoint(db, 'e1', 'assets', { ...scanned, scanPages: 3 });
      saveCheckpoint(db, 'e1', 'columns', { ...scanned, scanPages: 12 });
      saveCheckpoint(db, 'e1', 'tests', { ...scanned, scanPages: 12, scanDue: 'refuted' });
      saveCheckpoint(db, 'e1', 'asset_lineage', { ...NO_PROGRESS, watermark: halfAnHourAgo });
    });
  const nextScans = async (db: string) => {
    const [environment] = (await report(db)).environments;
    const wanted = environment?.streams.filter(({ stream }) => ['assets', 'columns', 'asset_lineage'].includes(stream));
    return wanted?.map(({ stream, next_scan_at }) => [stream, next_scan_at]);
  };
  const auto = file('auto');
  expect(await nextScans(auto)).toEqual([
    ['assets', addSeconds(halfAnHourAgo, 3600)],
    ['columns', addSeconds(halfAnHourAgo, 7200)],
    ['asset_lineage', null],
  ]);
  expect(await nextScans(file('2.5'))).toEqual([
    ['assets', addSeconds(halfAnHourAgo, 216_000)],
    ['columns', addSeconds(halfAnHourAgo, 216_000)],
    ['asset_lineage', null],
  ]);
  const { stdout } = await obsync(['status', '--db', auto]);
  for (const words of [/│ assets .* in (?:29|30) min │/, /│ columns .* in (?:89|90) min │/, /│ tests .* due +│/])
    expect(stdout).toMatch(words);
  expect(stdout).toMatch(/│ asset_lineage .*│ +│\n/);
});

test('status exits quietly if its reader has closed the pipe', () => {
  const shell = '"$0" "$1" status --db "$2" | true; echo "$PIPESTATUS"';
  const { stdout, stderr } = spawnSync('bash', ['-c', shell, NODE, MAIN, mirrorFile(fill)], { encoding: 'utf8' });
  expect({ stdout, stderr }).toEqual({ stdout: '0\n', stderr: '' });
});

describe('obsync status of a run without a recorded end', () => {
  const unended = () =>
    mirrorFile(({ db }) => db.insert(syncRuns).values({ cycle_id: 1, status: 'running', started_at: T }).run());

  test('the run was killed if the lock is free, and status creates no lock file', async () => {
    const db = unended();
    expect((await report(db)).last_run?.status).toBe('killed');
    expect(existsSync(`${db}.lock`)).toBe(false);
  });

  test('the run was killed if the lock file exists but is not locked', async () => {
    const db = unended();
    takeLock(db).release();
    expect((await report(db)).last_run?.status).toBe('killed');
  });

  test('the run is running while its process holds the lock', async () => {
    const db = unended();
    const lock = takeLock(db);
    expect((await report(db)).last_run?.status).toBe('running');
    lock.release();
  });
});

describe('obsync status refuses in one line and exits 2', () => {
  test('a missing mirror file is refused and not created', async () => {
    const cwd = folder();
    expect(await obsync(['status'], { cwd })).toEqual(refusal(/obsync\.db does not exist.*obsync sync/));
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('an empty file is refused', async () => {
    const db = join(folder(), 'm.db');
    writeFileSync(db, '');
    expect(await obsync(['status', '--db', db])).toEqual(refusal(/m\.db is empty: make it with `obsync sync`/));
  });

  test('another program’s database is refused, as by every command that opens it', async () => {
    const db = join(folder(), 'foreign.db');
    new Database(db).exec('create table t (a)').close();
    expect(await obsync(['status', '--db', db])).toEqual(refusal(/not a mirror but another SQLite database/));
  });
});
