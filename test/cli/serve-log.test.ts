import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { queueTo } from '../../src/cli/line-queue.ts';
import { SERVE_TOKEN, serving } from './serving.ts';
import { folder, MAIN, mirrorFile, NODE, ROOT } from './setup.ts';

/** Starts `obsync serve` with its log in this file, and waits for its URL. */
async function loggingTo(path: string, ...args: readonly string[]) {
  const log = openSync(path, 'r+');
  onTestFinished(() => closeSync(log));
  const options = ['--port', '0', '--rate-limit', 'off', '--db', mirrorFile(), ...args];
  const child = spawn(NODE, [MAIN, 'serve', ...options], {
    cwd: folder(),
    env: { PATH: process.env['PATH'], OBSYNC_SERVE_TOKEN: SERVE_TOKEN },
    stdio: ['ignore', 'pipe', log],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [url] = (await once(createInterface(child.stdout as Socket), 'line')) as [string];
  return { child, url };
}

describe('the log of a server', () => {
  test('it is written completely before the server exits, with paths of at most 200 characters', async () => {
    const server = await serving(['--db', mirrorFile(), '--rate-limit', 'off']);
    for (let i = 0; i < 300; i += 1) await server.get('/public/beta/environments');
    const path = `/${'x'.repeat(60_000)}`;
    await server.get(path);
    for (let i = 0; i < 20; i += 1) await server.get(path, 'a-strangers-token');
    await server.get('/healthz', null);
    server.kill('SIGTERM');
    const { stderr } = await server.ended;
    const lines = [...stderr.matchAll(/INFO: (?:more )?requests? (\{.*)/g)].map(([, line = '']) => JSON.parse(line));
    expect(lines.slice(0, 300)).toMatchObject(Array(300).fill({ path: '/public/beta/environments', status: 200 }));
    // A client without a token gets one line a minute, with the number of its other requests.
    expect(lines.slice(300)).toMatchObject([
      { path: path.slice(0, 200), reader: 'OBSYNC_SERVE_TOKEN', status: 404 },
      { path: path.slice(0, 200), reader: null, status: 401, client: '127.0.0.1' },
      { client: '127.0.0.1', requests_by_status: { 200: 1, 401: 19 } },
    ]);
    expect(stderr).toContain('stopping: responses in progress are finished first');
  });

  test('an unread log does not block the server, which still answers and stops on SIGTERM', async () => {
    const [pipe, tokens] = [join(folder(), 'pipe'), join(folder(), 'tokens.json')];
    execFileSync('sh', ['-c', `mkfifo '${pipe}'`]);
    // Each line has the name of the reader: 200 lines exceed what the pipe and the queue hold.
    const token_sha256 = createHash('sha256').update('a-token').digest('hex');
    writeFileSync(tokens, JSON.stringify([{ name: 'x'.repeat(10_000), token_sha256 }]));
    const { child, url } = await loggingTo(pipe, '--tokens', tokens);
    const headers = { authorization: 'Bearer a-token' };
    for (let i = 0; i < 200; i += 1) expect((await fetch(`${url}/nothing`, { headers })).status).toBe(404);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([143, null]);
  });
});

describe('a log on a full disk', () => {
  test('the server still answers, and stops on SIGTERM', async () => {
    const { child, url } = await loggingTo('/dev/full');
    for (let i = 0; i < 3; i += 1) expect((await fetch(`${url}/healthz`)).status).toBe(200);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([143, null]);
  });

  test.each(['text', 'json'])('with --log-format %s, any other command ends as usual', async (format) => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const child = spawn(NODE, [MAIN, 'status', '--db', 'none.db', '--log-format', format], {
      cwd: folder(),
      stdio: ['ignore', 'ignore', full],
    });
    expect(await once(child, 'exit')).toEqual([2, null]);
  });
});

describe('a JSON log whose reader is slow', () => {
  test('it arrives whole, line by line', async () => {
    const script = `import { createLog } from ${JSON.stringify(join(ROOT, 'src/cli/log.ts'))};
      process.stderr;
      const log = createLog({ level: 'info', format: 'json' });
      for (let i = 0; i < 300; i++) log.info({ i }, 'x'.repeat(6000));`;
    const child = spawn(NODE, ['--input-type=module', '-e', script], { stdio: ['ignore', 'ignore', 'pipe'] });
    // The pipe is full before anything is read.
    await vi.waitFor(() => expect(child.stderr.readableLength).toBeGreaterThan(60_000), 60_000);
    const lines = (await text(child.stderr)).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).i)).toEqual(Array.from({ length: 300 }, (_, i) => i));
  });
});

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
