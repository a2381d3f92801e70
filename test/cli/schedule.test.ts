import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { environments } from '../../schema/assets.ts';
import { syncRuns, syncStreamRuns } from '../../schema/sync.ts';
import { readMirrored } from '../../src/api/schedule-mirror.ts';
import { instantOfMs } from '../../src/core/time/instant.ts';
import { apiServer, folder, mirrorFile, obsync, refusal, start, TOKEN } from './setup.ts';

const env = { OBSYNC_TOKEN: TOKEN };

const listed = (cron: string | null) => ({ body: [{ id: 'e1', name: 'Production', cron }] });

describe('obsync schedule', () => {
  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('it stops immediately on %s while it waits, with exit code %i (R27)', async (signal, code) => {
    const api = await apiServer(listed('0 0 29 2 *'));
    const synced = mirrorFile(({ db }) => {
      db.insert(environments).values({ id: 'e1', name: 'Production', mirrored_at: '' }).run();
      addRun(db, { id: 1, env_id: 'e1', started_at: instantOfMs(Date.now()), status: 'done' });
    }, api.url);
    const started = start(['schedule', '--base-url', api.url, '--db', synced], { env });
    await started.logged('Production: 0 0 29 2 * (UTC), next run at');
    started.kill(signal);
    const { stderr, ...ended } = await started.ended;
    expect(ended).toEqual({ code, stdout: '' });
    expect(stderr).toMatch(/INFO: the schedule has stopped\n$/);
    expect(api.requests).toHaveLength(1);
  });

  test('SIGTERM stops the current run with exit code 143 (R27)', async () => {
    let stop = (): void => {};
    const api = await apiServer(listed('0 6 * * *'), listed('0 6 * * *'), () => {
      stop();
      return { body: { items: [], has_more: true, next_cursor: 'next' } };
    });
    const started = start(['schedule', '--base-url', api.url, '--concurrency', '1'], { cwd: folder(), env });
    stop = () => {
      stop = () => {}; // a second signal would not wait
      started.kill('SIGTERM');
    };
    const { stderr, ...ended } = await started.ended;
    expect(ended).toEqual({ code: 143, stdout: '' });
    expect(stderr).toMatch(/INFO: Production: run 1 ended, interrupted: .*\n.* INFO: the schedule has stopped\n$/);
  });

  test('it exits 2 if no environment can be scheduled, without creating a mirror', async () => {
    const api = await apiServer(listed(null));
    const cwd = folder();
    const { code, stderr } = await obsync(['schedule', '--base-url', api.url], { cwd, env });
    expect(code).toBe(2);
    expect(stderr).toMatch(/obsync: there is nothing to schedule: pass a cron expression with --cron\n$/);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('it exits 2 before any request if the mirror belongs to another base URL', async () => {
    const api = await apiServer(listed('0 6 * * *'));
    const ended = await obsync(['schedule', '--base-url', api.url, '--db', mirrorFile()], { env });
    expect(ended).toEqual(refusal(/belongs to https:\/\/api\.example\.com/));
    expect(api.requests).toHaveLength(0);
  });

  test('it rereads the token file for every run, and immediately after the token is refused', async () => {
    const file = join(folder(), 'token');
    writeFileSync(file, 'old', { mode: 0o600 });
    const refused = { status: 401, body: { error: { code: 'unauthenticated', message: 'no' } } };
    const api = await apiServer(
      listed('0 6 * * *'),
      () => {
        writeFileSync(file, 'new');
        return refused;
      },
      listed('0 6 * * *'),
      { body: { items: [], has_more: false } },
    );
    const args = ['schedule', '--base-url', api.url, '--token-file', file, '--stream', 'assets'];
    const started = start(args, { cwd: folder() });
    await started.logged('Production: run 1 ended, done');
    started.kill('SIGTERM');
    expect((await started.ended).code).toBe(143);
    expect(api.requests.slice(0, 3).map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer old',
      'Bearer old',
      'Bearer new',
    ]);
  });

  test('it keeps the token of a file that can be read only once', async () => {
    const file = join(folder(), 'token');
    execFileSync('sh', ['-c', `mkfifo -m 600 '${file}'`]);
    const api = await apiServer(listed('0 6 * * *'), listed('0 6 * * *'), { body: { items: [], has_more: false } });
    const args = ['schedule', '--base-url', api.url, '--token-file', file, '--stream', 'assets'];
    const started = start(args, { cwd: folder() });
    await writeFile(file, 'once');
    await started.logged('Production: run 1 ended, done');
    started.kill('SIGTERM');
    expect((await started.ended).code).toBe(143);
    expect(new Set(api.requests.map(({ headers }) => headers['authorization']))).toEqual(new Set(['Bearer once']));
  });

  test('it continues with a new thread after one exits during a run (R27)', async () => {
    // Running out of memory can end the thread at any moment.
    const ending = join(folder(), 'end-thread.mjs');
    writeFileSync(ending, "process.on('worker', (thread) => process.once('SIGUSR2', () => thread.terminate()));");
    let endThread = (): 'hang' => 'hang';
    const page = { body: { items: [{ id: 'a' }], has_more: true, next_cursor: 'next' } };
    const rest = { body: { items: [], has_more: false } };
    const list = listed('0 6 * * *');
    const api = await apiServer(list, list, page, () => endThread(), list, rest);
    const args = ['schedule', '--base-url', api.url, '--stream', 'assets', '--cron', '* * * * * *'];
    const started = start(args, { cwd: folder(), env: { ...env, NODE_OPTIONS: `--import ${pathToFileURL(ending)}` } });
    endThread = () => {
      started.kill('SIGUSR2');
      return 'hang';
    };
    await started.logged('Production: run 2 ended, done');
    started.kill('SIGTERM');
    const { code, stderr } = await started.ended;
    expect(code).toBe(143);
    expect(stderr).toContain(
      'Production: the run failed unexpectedly: the thread of the run exited with code 1 before the run had ended',
    );
    expect(api.requests[5]?.target).toContain('cursor=next');
  });

  test('it exits 3 if the token is refused at the start, whatever is mirrored', async () => {
    const api = await apiServer({ status: 401, body: { error: { code: 'unauthenticated', message: 'no' } } });
    const db = mirrorFile((file) => {
      addRun(file.db, { id: 1, env_id: 'e1', started_at: instantOfMs(Date.now()), status: 'done' });
      file.db.insert(environments).values({ id: 'e1', name: 'E', cron: '0 6 * * *', mirrored_at: '' }).run();
    }, api.url);
    const ended = await obsync(['schedule', '--base-url', api.url, '--db', db], { env });
    expect(ended).toMatchObject({ code: 3, stderr: expect.stringContaining('The token in OBSYNC_TOKEN is refused') });
  });

  test('it exits 3 if the token is refused before anything was mirrored', async () => {
    const api = await apiServer({ status: 401, body: { error: { code: 'unauthenticated', message: 'no' } } });
    expect(await obsync(['schedule', '--base-url', api.url], { cwd: folder(), env })).toMatchObject({ code: 3 });
  });
});

describe('what a schedule reads from its mirror', () => {
  const read = (path: string) => readMirrored(path, 'https://api.example.com');

  test('without a mirror it reads nothing and creates none', async () => {
    const cwd = folder();
    expect(await read(`${cwd}/m.db`)).toEqual({ environments: [], lastStarts: new Map() });
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('it reads the environments that are still listed', async () => {
    const bare = { mirrored_at: '2026-11-20T04:10:00.000000Z' };
    const path = mirrorFile(({ db }) => {
      const missing = { id: 'e2', name: 'Gone', missing_since: '2026-11-20T04:10:00.000000Z', ...bare };
      db.insert(environments)
        .values([{ id: 'e1', name: 'Production', cron: '0 6 * * *', ...bare }, missing])
        .run();
    });
    expect((await read(path)).environments).toEqual([{ id: 'e1', name: 'Production', cron: '0 6 * * *' }]);
  });

  test('it reads the start of each environment’s last run that ended', async () => {
    const path = mirrorFile(({ db }) => {
      for (const id of ['a', 'b', 'c']) db.insert(environments).values({ id, name: id, mirrored_at: '' }).run();
      addRun(db, { id: 1, env_id: 'a', started_at: '2026-11-20T01', status: 'done' });
      addRun(db, { id: 2, env_id: 'a', started_at: '2026-11-20T02', status: 'problems' });
      addRun(db, { id: 3, env_id: 'b', started_at: '2026-11-20T03', status: 'done' });
      addRun(db, { id: 4, env_id: 'a', started_at: '2026-11-20T04', status: 'interrupted' });
      addRun(db, { id: 5, env_id: 'a', started_at: '2026-11-20T05', status: 'running' });
      addRun(db, { id: 6, env_id: 'c', started_at: '2026-11-20T06', status: 'stopped' });
    });
    const starts = [...(await read(path)).lastStarts];
    expect(starts).toEqual([
      ['a', '2026-11-20T02'],
      ['b', '2026-11-20T03'],
    ]);
  });

  test('a mirror of an older version is migrated first', async () => {
    const path = mirrorFile(({ connection }) => connection.exec('drop view failing_tests'));
    expect((await read(path)).environments).toEqual([]);
  });
});

interface RunRow {
  id: number;
  env_id: string;
  started_at: string;
  status: (typeof syncRuns.$inferInsert)['status'];
}

function addRun(db: Parameters<NonNullable<Parameters<typeof mirrorFile>[0]>>[0]['db'], row: RunRow): void {
  const { id, env_id, started_at, status } = row;
  db.insert(syncRuns).values({ id, cycle_id: id, status, started_at }).run();
  const counts = { requests: 1, pages: 1, rows_written: 0, rows_deleted: 0, rows_rejected: 0, rows_late: 0 };
  const times = { started_at, ended_at: started_at };
  db.insert(syncStreamRuns)
    .values({
      run_id: id,
      env_id,
      stream: 'assets',
      mode: 'feed',
      reason: 'increment',
      status: 'done',
      ...counts,
      ...times,
    })
    .run();
}
