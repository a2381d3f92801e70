import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ForecastReport } from '../../src/api/plan.ts';
import { planCommand, renderForecast } from '../../src/cli/plan.ts';
import { syncCommand } from '../../src/cli/sync.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { takeLock } from '../../state/lock.ts';
import { HOUR } from '../model/world.ts';
import { startApiServer } from '../support/api-server.ts';
import { WHOLE_REQUESTS } from '../support/catalogue.ts';
import { servedWorld } from '../support/served-world.ts';
import { folder, mirrorFile, obsync, start, TOKEN, testIo } from './setup.ts';

/** Runs one command in this process. */
async function run<Result>(
  command: typeof planCommand,
  given: Record<string, unknown>,
): Promise<{ code: number; out: string; json: () => Result }> {
  const io = testIo({ OBSYNC_TOKEN: TOKEN });
  const code = await command({ json: true, retries: 0, logLevel: 'warn', ...given }, io);
  const out = io.stdout.text;
  return { code, out, json: () => JSON.parse(out) as Result };
}

/** Serves two environments with a quota of 100 requests a minute, and picks the path of their mirror. */
async function setUp(whenDone = onTestFinished) {
  const quota = { told: true, limit: 100, remaining: 100 };
  const headers = (): Record<string, string> =>
    quota.told
      ? {
          'ratelimit-limit': String(quota.limit),
          'ratelimit-remaining': String(quota.remaining),
          'ratelimit-reset': '30',
        }
      : {};
  const { world, server } = await servedWorld(['e1', 'e2'], headers, whenDone);
  const options = { baseUrl: server.url, db: join(folder(), 'm.db'), pageSize: 2 };
  return { world, server, options, quota };
}

/** A synced mirror, which no plan changes, and the plan of its next sync. */
let synced: Awaited<ReturnType<typeof setUp>>;
let report: ForecastReport;
beforeAll(async () => {
  synced = await setUp(afterAll);
  expect((await run(syncCommand, synced.options)).code).toBe(0);
  report = (await run<ForecastReport>(planCommand, synced.options)).json();
});

const parts = (streams: ForecastReport['streams'] | RunSummary['streams']) =>
  streams.map(({ env_id, stream, mode, reason, requests }) => `${env_id} ${stream} ${mode} ${reason} ${requests}`);

const bytes = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

describe('obsync plan', () => {
  test('it forecasts the requests of the next sync, and requests only the environments', async () => {
    const { world, server, options } = await setUp();
    expect((await run(syncCommand, options)).code).toBe(0);
    world.advance(3 * HOUR);
    const before = server.requests.length;
    const told = await run<ForecastReport>(planCommand, options);
    expect(server.requests.slice(before).map(({ target }) => target)).toEqual(['/public/beta/environments']);
    const report = told.json();
    const ran = (await run<RunSummary>(syncCommand, options)).json();
    expect(report).toMatchObject({ requests: ran.requests, at_least: false, runs: 1, page_size: 2, missing: [] });
    expect(parts(report.streams)).toEqual(parts(ran.streams));
    expect(server.requests.length - before - 1).toBe(ran.requests);
  });

  test('it derives the wait from the quota of its response, else from the shared quota, else from the last run’s', async () => {
    const { options, quota } = synced;
    onTestFinished(() => void Object.assign(quota, { told: true, remaining: 100 }));
    quota.remaining = 5;
    const {
      requests,
      seconds,
      quota: told,
    } = (await run<ForecastReport>(planCommand, { ...options, full: true })).json();
    expect(requests).toBeGreaterThan(5);
    expect(requests).toBeLessThan(105);
    // The rest of the window, which passes meanwhile.
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(30);
    expect(told).toEqual({ limit: 100, remaining: 5, reset_seconds: seconds, window_seconds: 30 });
    quota.told = false;
    // The previous plan left 5, and this one used one of them.
    const small = { ...options, stream: ['assets'] };
    expect((await run<ForecastReport>(planCommand, small)).json()).toMatchObject({ quota: { remaining: 4 } });
    vi.stubEnv('XDG_STATE_HOME', folder());
    onTestFinished(() => void vi.unstubAllEnvs());
    expect((await run<ForecastReport>(planCommand, small)).json()).toMatchObject({
      seconds: 0,
      quota: { remaining: 99 },
    });
  });

  test('it takes no lock and does not change the mirror', async () => {
    const { options } = synced;
    const lock = takeLock(options.db);
    const before = bytes(options.db);
    expect((await run(planCommand, { ...options, full: true, history: true })).code).toBe(0);
    expect(bytes(options.db)).toBe(before);
    lock.release();
  });

  test('without a mirror it counts at least one request per read, and creates none', async () => {
    const { options } = await setUp();
    const report = (await run<ForecastReport>(planCommand, options)).json();
    expect(report).toMatchObject({ requests: 1 + 2 * WHOLE_REQUESTS.rows, at_least: true, mirror_exists: false });
    expect(report.streams.every((stream) => stream.at_least)).toBe(true);
    expect(readdirSync(dirname(options.db))).toEqual([]);
  });

  test('its text output has a table, the uncertainties and the number of requests', async () => {
    const { options } = await setUp();
    const text = (await run(planCommand, { ...options, json: false, stream: ['assets'], env: ['env e2'] })).out;
    expect(text).toMatch(/│ env e2 +│ assets +│ scan \(first\) +│ +1\+ │/);
    expect(text).toContain('there is no mirror yet');
    expect(text).toContain(
      'the next sync needs at least 2 requests, one of them for the list of environments\nit does not wait for quota: 100 requests of 100 in 30 s',
    );
  });

  test('its text output has room for any number of streams', () => {
    const row = { ...report.streams[0], environment: 'last', requests: 123_456_789, at_least: true };
    const streams = [...Array(200_000).fill(report.streams[0]), row];
    expect(renderForecast({ ...report, at_least: true, streams }, null)).toMatch(/│ last .*│ 123456789\+ │\n└/);
  });

  test('it says that changes at the source cost extra requests', async () => {
    const changes = 'those for the changes at the source since the last sync';
    expect(report).toMatchObject({ at_least: false, not_counted: [changes] });
    expect(renderForecast(report, null)).toContain(
      `requests, one of them for the list of environments, plus ${changes}\n`,
    );
    const limited = (await run(planCommand, { ...synced.options, json: false, full: true, maxRequests: 50 })).out;
    expect(limited).toMatch(
      /since the last sync\nit stops at --max-requests 50: all is up to date after \d runs\n24 hourly/,
    );
  });

  test('it shows the requests of a day of hourly syncs, which --full-every changes (R13)', async () => {
    const { day } = report;
    expect(day?.scan_requests).toBeGreaterThan(0);
    const weekly = (await run<ForecastReport>(planCommand, { ...synced.options, fullEvery: 7 })).json();
    expect(weekly.day?.scan_requests).toBe(0);
    expect(renderForecast(report, null)).toContain(
      `24 hourly syncs a day need ${day?.requests} requests if nothing changes, ${day?.scan_requests} of them for scans`,
    );
  });

  test('it is refused for the same reasons as a sync', async () => {
    const { options, server } = await setUp();
    for (const db of [mirrorFile(), join(dirname(options.db), 'none', 'm.db')])
      await expect(run(planCommand, { ...options, db })).rejects.toMatchObject({ recovery: 'usage' });
    expect(server.requests).toHaveLength(0);
    await expect(run(planCommand, { ...options, env: ['nowhere'] })).rejects.toMatchObject({ recovery: 'usage' });
    server.script({ status: 401, body: { error: { code: 'unauthenticated', message: 'no' } } });
    await expect(run(planCommand, options)).rejects.toMatchObject({ recovery: 'token' });
    server.script({ status: 500 });
    await expect(run(planCommand, options)).rejects.toMatchObject({ recovery: 'run' });
    expect(existsSync(options.db)).toBe(false);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s stops it with exit code %i, and it says so (R27)', async (signal, code) => {
    const server = await startApiServer('hang');
    onTestFinished(() => server.close());
    const started = start(['plan', '--base-url', server.url], { env: { OBSYNC_TOKEN: TOKEN } });
    await server.received(1);
    started.kill(signal);
    const stderr = expect.stringMatching(/^obsync: stopped by a signal: [^\n]+\n$/i);
    expect(await started.ended).toEqual({ code, stdout: '', stderr });
  });

  test('the program has it as a command', async () => {
    const { options } = await setUp();
    const args = ['plan', '--base-url', options.baseUrl, '--stream', 'columns', '--json'];
    const { code, stdout } = await obsync(args, { cwd: folder(), env: { OBSYNC_TOKEN: TOKEN } });
    expect({ code, requests: JSON.parse(stdout).requests }).toEqual({ code: 0, requests: 3 });
  });
});
