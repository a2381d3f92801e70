import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { EMPTY_PAGE, type ScriptedStep } from '../support/api-server.ts';
import { SERVE_TOKEN } from './serving.ts';
import { apiServer, folder, mirrorFile, obsync, refusal, start, TOKEN } from './setup.ts';

const env = { OBSYNC_TOKEN: TOKEN, OBSYNC_SERVE_TOKEN: SERVE_TOKEN };
const LISTED = { body: [{ id: 'e1', name: 'Production', cron: '0 6 * * *' }] };
const ASSET = { id: 'a', name: 'A', kind: 'other', source_type: 'dbt' };

/** A service whose first page of assets waits until it is released. */
async function slowService() {
  const release = Promise.withResolvers<void>();
  const page: ScriptedStep = async () => {
    await release.promise;
    return { body: { ...EMPTY_PAGE, items: [ASSET] } };
  };
  const api = await apiServer(LISTED, LISTED, page);
  return { url: api.url, api, release: () => release.resolve() };
}

/** Starts a schedule with a mirror that does not exist yet. */
async function scheduling(url: string, args: readonly string[], cwd = folder()) {
  const started = start(['schedule', '--base-url', url, '--stream', 'assets', ...args], { cwd, env });
  onTestFinished(async () => {
    started.kill('SIGKILL');
    await started.ended;
  });
  await started.logged('next run now');
  return { started, cwd };
}

/** A port that another server has. */
async function takenPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return String((server.address() as AddressInfo).port);
}

const asked = async (url: string, token?: string) => {
  const answer = await fetch(url, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
  return [answer.status, await answer.text()] as const;
};

describe('obsync schedule --metrics-port', () => {
  test('it serves the metrics and the health of the mirror, from before the first sync on', async () => {
    const { url, release } = await slowService();
    const { started, cwd } = await scheduling(url, ['--metrics-port', '0', '--textfile', 'obsync.prom']);
    const [metrics = ''] = /http:\/\/127\.0\.0\.1:\d+\/metrics/.exec(started.said()) ?? [];
    const health = metrics.replace('metrics', 'healthz');
    expect((await asked(metrics))[1]).toMatch(/^obsync_mirror_age_seconds \+Inf$/m);
    expect(await asked(health)).toEqual([200, '{"status":"up","last_sync_age_seconds":null}']);
    expect((await asked(`${health}?max_age=2h`))[0]).toBe(503);
    release();
    await started.logged('run 1 ended, done');
    const [, text] = await asked(metrics);
    expect(text).toContain('obsync_last_run_status{status="done"} 1\n');
    expect(text).toContain('obsync_mirror_rows{stream="assets"} 1\n');
    const [status, body] = await asked(`${health}?max_age=2h`);
    expect([status, JSON.parse(body).status]).toEqual([200, 'up']);
    const ageless = (all: string) => all.split('\n').filter((line) => !line.includes('_age_'));
    expect(ageless(readFileSync(join(cwd, 'obsync.prom'), 'utf8'))).toEqual(ageless(text));
    started.kill('SIGTERM');
    expect(await started.ended).toMatchObject({ code: 143, stdout: '' });
  });

  test.each([['--metrics-port'], ['--serve', '--port']])(
    'a port that is taken is refused before any request: %s',
    async (...flags) => {
      const { url, api } = await slowService();
      const ended = await obsync(['schedule', '--base-url', url, '--log-level', 'warn', ...flags, await takenPort()], {
        env,
      });
      expect(ended).toEqual(refusal(/: choose (others|another address)/));
      expect(api.requests).toEqual([]);
    },
  );
});

test.each([
  ['--port', '80', '--serve'],
  ['--tokens', 'tokens.json', '--serve'],
  ['--metrics-host', '0.0.0.0', '--metrics-port'],
])('%s is refused if it has no effect, but a variable for another command is not', async (flag, value, needed) => {
  const where = { env: { ...env, OBSYNC_PORT: '80', OBSYNC_BASE_URL: 'http://127.0.0.1:1' } };
  const ended = await obsync(['schedule', flag, value], where);
  expect(ended).toEqual(refusal(new RegExp(`^obsync: ${flag} has no effect without ${needed}: add it\n$`)));
  expect((await obsync(['schedule', '--cron', 'never'], where)).stderr).not.toContain('has no effect');
});

describe('obsync schedule --serve', () => {
  test('it serves a mirror that does not exist yet from the start, and stops cleanly on SIGTERM during the first sync (R27)', async () => {
    const { url, api } = await slowService();
    const { started } = await scheduling(url, ['--serve', '--port', '0']);
    const server = (await started.printed(/\n/)).trim();
    expect(started.said()).toContain(
      'obsync.db was created: what it serves is incomplete until the first sync has ended',
    );
    expect(await asked(`${server}/healthz`)).toEqual([200, '{"status":"up","last_sync_age_seconds":null}']);
    await api.received(3);
    expect((await asked(`${server}/healthz?max_age=2h`))[0]).toBe(503);
    started.kill('SIGTERM');
    expect(await started.ended).toMatchObject({ code: 143, stdout: `${server}\n` });
  });

  test('it serves what it syncs, with the metrics and the page of serve', async () => {
    const { url, release } = await slowService();
    const { started } = await scheduling(url, ['--serve', '--port', '0']);
    const server = (await started.printed(/\n/)).trim();
    release();
    await started.logged('run 1 ended, done');
    const [status, body] = await asked(`${server}/public/beta/e1/assets`, SERVE_TOKEN);
    expect([status, JSON.parse(body).items]).toEqual([200, [expect.objectContaining({ id: 'a' })]]);
    expect((await asked(`${server}/metrics`, SERVE_TOKEN))[1]).toContain('obsync_last_run_status{status="done"} 1\n');
    expect((await asked(`${server}/metrics`))[0]).toBe(401);
    expect((await asked(`${server}/`))[1]).toContain('<!doctype html>');
  });

  test('without a token for its readers it is refused before any request, and nothing is created', async () => {
    const { url, api } = await slowService();
    const cwd = folder();
    const ended = await obsync(['schedule', '--base-url', url, '--serve'], { cwd, env: { OBSYNC_TOKEN: TOKEN } });
    expect(ended).toEqual(refusal(/^obsync: no token would be accepted/));
    expect(api.requests).toEqual([]);
    expect(existsSync(join(cwd, 'obsync.db'))).toBe(false);
  });

  test('the mirror of another base URL is refused before it is served (R26)', async () => {
    const { url, api } = await slowService();
    const ended = await obsync(['schedule', '--base-url', url, '--serve', '--port', '0', '--db', mirrorFile()], {
      env,
    });
    expect(ended).toEqual(refusal(/belongs to https:\/\/api\.example\.com/));
    expect(api.requests).toEqual([]);
  });
});
