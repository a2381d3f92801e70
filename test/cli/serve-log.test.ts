import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { queueTo } from '../../src/cli/line-queue.ts';
import { SERVE_TOKEN, serving } from './serving.ts';
import { folder, MAIN, mirrorFile, NODE } from './setup.ts';

describe('the log of a server', () => {
  test('it truncates a path to 200 characters', async () => {
    const server = await serving(['--db', mirrorFile()]);
    const path = `/${'x'.repeat(60_000)}`;
    for (const token of [SERVE_TOKEN, 'a-strangers-token']) await server.get(path, token);
    server.kill('SIGTERM');
    const { stderr } = await server.ended;
    const paths = [...stderr.matchAll(/"path":"([^"]*)"/g)].map(([, logged]) => logged);
    expect(paths).toEqual([path.slice(0, 200), path.slice(0, 200)]);
  });

  test('a client without a token gets one line a minute, with the number of its requests', async () => {
    const server = await serving(['--db', mirrorFile(), '--rate-limit', '5/1h']);
    for (let i = 0; i < 20; i += 1) await server.get(`/nothing/${i}`, 'a-strangers-token');
    await server.get('/healthz', null);
    server.kill('SIGTERM');
    const { stderr } = await server.ended;
    const lines = [...stderr.matchAll(/INFO: (?:more )?requests? (\{.*)/g)].map(([, line = '']) => JSON.parse(line));
    expect(lines).toMatchObject([
      { path: '/nothing/0', reader: null, status: 401, client: '127.0.0.1' },
      { client: '127.0.0.1', requests_by_status: { 200: 1, 401: 4, 429: 15 } },
    ]);
  });

  test('it is written completely before the server exits', async () => {
    const server = await serving(['--db', mirrorFile(), '--rate-limit', 'off']);
    for (let i = 0; i < 300; i += 1) await server.get(`/public/beta/environments?${i}`);
    server.kill('SIGTERM');
    const lines = (await server.ended).stderr.trimEnd().split('\n');
    expect(lines.filter((line) => line.includes('INFO: request'))).toHaveLength(300);
    expect(lines.at(-1)).toContain('stopping: responses in progress are finished first');
  });

  test('an unread log does not block the server, which still answers and stops on SIGTERM', async () => {
    const child: ChildProcess = spawn(NODE, [MAIN, 'serve', '--port', '0', '--db', mirrorFile()], {
      cwd: folder(),
      env: { PATH: process.env['PATH'], OBSYNC_SERVE_TOKEN: SERVE_TOKEN },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [url] = (await once(createInterface(child.stdout as Socket), 'line')) as [string];
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const path = `/healthz/${'x'.repeat(200)}`;
    for (let i = 0; i < 3000; i += 1) expect(await statusOf(`${url}${path}`, agent)).toBe(i < 120 ? 401 : 429);
    expect(await statusOf(`${url}/healthz`, agent)).toBe(200);
    agent.destroy();
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([143, null]);
  });
});

describe('a log on a full disk', () => {
  test('the server still answers, and stops on SIGTERM', async () => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const child: ChildProcess = spawn(NODE, [MAIN, 'serve', '--port', '0', '--db', mirrorFile()], {
      cwd: folder(),
      env: { PATH: process.env['PATH'], OBSYNC_SERVE_TOKEN: SERVE_TOKEN },
      stdio: ['ignore', 'pipe', full],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [url] = (await once(createInterface(child.stdout as Socket), 'line')) as [string];
    for (let i = 0; i < 3; i += 1) expect((await fetch(`${url}/healthz`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([143, null]);
  });

  test('any other command ends as usual', async () => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const child = spawn(NODE, [MAIN, 'status', '--db', 'none.db'], {
      cwd: folder(),
      stdio: ['ignore', 'ignore', full],
    });
    expect(await once(child, 'exit')).toEqual([2, null]);
  });
});

function statusOf(url: string, agent: Agent): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode));
    }).on('error', reject);
  });
}

/** Both ends of a connection, one of which is not read. */
async function ends(): Promise<{ near: Socket; far: Socket }> {
  const listening = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const near = connect((listening.address() as AddressInfo).port, '127.0.0.1');
  const [far] = (await once(listening, 'connection')) as [Socket];
  onTestFinished(() => {
    for (const end of [near, far]) end.destroy();
    listening.close();
  });
  return { near, far };
}

const LINE = `${'x'.repeat(999)}\n`;

describe('the line queue of a log', () => {
  test('it drops lines when full, and reports their number when there is room again', async () => {
    const { near, far } = await ends();
    const told = Promise.withResolvers<number>();
    const queue = queueTo(near, told.resolve);
    for (let i = 0; i < 20_000; i += 1) queue.write(LINE);
    let lines = 0;
    far.on('data', (chunk: Buffer) => {
      lines += chunk.filter((byte) => byte === 10).length;
    });
    far.resume();
    const dropped = await told.promise;
    expect(dropped).toBeGreaterThan(0);
    await queue.end();
    near.end();
    await once(far, 'end');
    expect(lines + dropped).toBe(20_000);
  });

  test('it gives up half a second after its end if the rest is not read', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { near } = await ends();
    const queue = queueTo(near, () => {});
    for (let i = 0; i < 20_000; i += 1) queue.write(LINE);
    const ended = queue.end();
    vi.advanceTimersByTime(499);
    expect(near.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    await ended;
    expect(near.destroyed).toBe(true);
  });

  test('an empty queue ends immediately, even if its reader has gone', async () => {
    const { near, far } = await ends();
    const queue = queueTo(near, () => {});
    await queue.end();
    far.destroy();
    while (!near.destroyed) {
      queue.write(LINE);
      await new Promise(setImmediate);
    }
    queue.write(LINE);
    await queue.end();
  });
});
