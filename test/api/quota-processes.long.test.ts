import type { ChildProcess } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openQuotaKeeper } from '../../src/api/quota-keeper.ts';
import type { QuotaKeeper } from '../../src/core/ports/quota-keeper.ts';
import { startQuotaServer } from '../support/quota-server.ts';
import { ended, startQuotaProcess } from '../support/start-quota-process.ts';
import { testFolder } from '../support/test-folder.ts';

async function serving(limit: number) {
  const server = await startQuotaServer({ limit, windowMs: 1000 });
  onTestFinished(() => server.close());
  return server;
}

/** Starts a process that sends this many requests. */
function start(url: string, requests: number, home: string): ChildProcess {
  return startQuotaProcess([url, String(requests)], { XDG_STATE_HOME: home });
}

test('four processes together use up every quota window, and none is refused (R23)', async () => {
  const server = await serving(40);
  const home = testFolder();
  const codes = await Promise.all([20, 20, 20, 20].map((requests) => ended(start(server.url, requests, home))));
  expect(codes).toEqual([0, 0, 0, 0]);
  expect({ accepted: server.accepted, refused: server.refused() }).toEqual({ accepted: [40, 40], refused: 0 });
});

test('requests of a killed process count, and the other processes continue (R23)', async () => {
  const server = await serving(30);
  const home = testFolder();
  const [first, ...others] = [200, 30, 30].map((requests) => start(server.url, requests, home)) as [ChildProcess];
  await server.received(25);
  first.kill('SIGKILL');
  expect(await Promise.all(others.map(ended))).toEqual([0, 0]);
  expect(server.refused()).toBe(0);
});

test('a process that starts later stays within the quota that the earlier one left (R23)', async () => {
  const server = await serving(10);
  const home = testFolder();
  for (const requests of [7, 7, 7]) expect(await ended(start(server.url, requests, home))).toBe(0);
  expect(server.refused()).toBe(0);
});

/** Changes the state so the test can tell which process has seen which changes. */
const count = (keeper: QuotaKeeper) =>
  keeper.change((state) => {
    const uncounted = state.window.uncounted + 1;
    return { state: { ...state, window: { ...state.window, uncounted } }, result: uncounted };
  });

test('a process that could not share the quota retries, and merges what it has counted alone (R23)', async () => {
  const home = testFolder();
  const inTheWay = join(home, 'obsync');
  writeFileSync(inTheWay, '');
  vi.stubEnv('XDG_STATE_HOME', home);
  onTestFinished(() => void vi.unstubAllEnvs());
  const told: string[] = [];
  let nowMs = 0;
  const account = { baseUrl: 'https://api.example.com', token: 'token', shareQuota: true };
  const open = () => openQuotaKeeper({ ...account, nowMs: () => nowMs }, (reason) => told.push(reason)) as QuotaKeeper;
  const [one, other] = [open(), open()];
  onTestFinished(async () => void (await Promise.all([one.close(), other.close()])));
  expect([await count(one), await count(one)]).toEqual([1, 2]);
  rmSync(inTheWay);
  expect([await count(other), await count(one)]).toEqual([1, 3]);
  nowMs += 60_000;
  expect([await count(one), await count(other), await count(one)]).toEqual([5, 6, 7]);
  expect(told).toHaveLength(1);
});

test('without a state folder a process counts alone, and says why once (R23)', async () => {
  const home = testFolder();
  // A file in place of the folder fails even for a user who may write everywhere.
  writeFileSync(join(home, 'file'), '');
  vi.stubEnv('XDG_STATE_HOME', join(home, 'file'));
  onTestFinished(() => void vi.unstubAllEnvs());
  const told: string[] = [];
  const account = { baseUrl: 'https://api.example.com', token: 'token', shareQuota: true };
  const keeper = openQuotaKeeper(account, (reason) => told.push(reason)) as QuotaKeeper;
  for (const expected of [1, 2]) {
    expect(await count(keeper)).toBe(expected);
  }
  expect(told).toEqual([expect.stringContaining(home)]);
});
