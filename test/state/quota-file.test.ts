import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { accountKey } from '../../src/api/quota-keeper.ts';
import type { QuotaKeeper } from '../../src/core/ports/quota-keeper.ts';
import { type QuotaState, UNKNOWN_QUOTA } from '../../src/core/quota/quota-state.ts';
import { resumedWindow } from '../../src/core/quota/rate-window.ts';
import { fileKeeper, machineTime, quotaFilePath } from '../../state/quota-file.ts';
import { testFolder } from '../support/test-folder.ts';

const ACCOUNT = accountKey({ baseUrl: 'https://api.example.com', token: 'secret-token' });
const DAY_MS = 86_400_000;

const place = (): string => join(testFolder(), 'obsync', 'quota.db');

function open(path: string, { account = ACCOUNT, now = machineTime } = {}): QuotaKeeper {
  const keeper = fileKeeper({ path: () => path, account, now });
  onTestFinished(() => keeper.close());
  return keeper;
}

const put = (keeper: QuotaKeeper, state: QuotaState) => keeper.change(() => ({ state, result: undefined }));
const seen = (keeper: QuotaKeeper) => keeper.change((state, nowMs) => ({ state, result: { state, nowMs } }));

test('a process reads the quota that another one recorded; each account has its own (R23)', async () => {
  const path = place();
  const spent = { window: resumedWindow(0, Date.now() + 50_000), inFlight: [] };
  await put(open(path), spent);
  expect((await seen(open(path))).state).toEqual(spent);
  expect((await seen(open(path, { account: 'another' }))).state).toEqual(UNKNOWN_QUOTA);
});

test('the file holds neither token nor address, and only its user can read it unless they share it (R25)', async () => {
  const path = place();
  await put(open(path), UNKNOWN_QUOTA);
  const bytes = readFileSync(path, 'latin1');
  expect(bytes).toContain(ACCOUNT);
  expect(bytes).not.toMatch(/secret|example/);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  chmodSync(path, 0o660);
  await put(open(path), UNKNOWN_QUOTA);
  expect(statSync(path).mode & 0o777).toBe(0o660);
});

test('a failed change leaves the quota as it was', async () => {
  const keeper = open(place());
  await put(keeper, UNKNOWN_QUOTA);
  const failing = keeper.change(() => {
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect((await seen(keeper)).state).toEqual(UNKNOWN_QUOTA);
});

test.each([
  ['forward by a day', DAY_MS],
  ['back by a day', -DAY_MS],
])('setting the clock %s changes no wait (R1, R23)', async (_, jumpMs) => {
  const path = place();
  let time = { wallMs: 1_000_000_000, uptimeMs: 5000 };
  const keeper = open(path, { now: () => time });
  await put(keeper, { window: resumedWindow(0, time.wallMs + 50_000), inFlight: [] });
  time = { wallMs: time.wallMs + jumpMs, uptimeMs: time.uptimeMs };
  const { state, nowMs } = await seen(keeper);
  expect(Number(state.window.pause?.untilMs) - nowMs).toBe(50_000);
});

test('accounts unused for a week are deleted', async () => {
  const path = place();
  const old = { wallMs: Date.now() - 8 * DAY_MS, uptimeMs: 0 };
  const spent = { window: resumedWindow(0, Date.now() + 50_000), inFlight: [] };
  await put(open(path, { account: 'old', now: () => old }), spent);
  await put(open(path), spent);
  expect((await seen(open(path, { account: 'old' }))).state).toEqual(UNKNOWN_QUOTA);
  expect((await seen(open(path))).state).toEqual(spent);
});

test.each([
  ['no database', () => Buffer.from('no database at all, '.repeat(500))],
  ['a database with a damaged page', (whole: Buffer) => whole.fill(1, 4096)],
])('a file that holds %s is replaced by a new one', async (_, damaged) => {
  const path = place();
  const first = open(path);
  await put(first, { window: resumedWindow(0, Date.now() + 50_000), inFlight: [] });
  await first.close();
  writeFileSync(path, damaged(readFileSync(path)));
  const keeper = open(path);
  expect((await seen(keeper)).state).toEqual(UNKNOWN_QUOTA);
});

describe('a file that another process replaced', () => {
  const spent = { window: resumedWindow(0, Date.now() + 50_000), inFlight: [] };

  test('because it was damaged is shared with it (R23)', async () => {
    const path = place();
    const [one, other] = [open(path), open(path)];
    await put(one, UNKNOWN_QUOTA);
    await put(other, UNKNOWN_QUOTA);
    writeFileSync(path, 'no database at all, '.repeat(500));
    await put(one, spent);
    expect((await seen(other)).state).toEqual(spent);
    expect((await seen(one)).state).toEqual(spent);
  });

  test('because it was deleted is shared with it after one failed change (R23)', async () => {
    const path = place();
    const [one, other] = [open(path), open(path)];
    await put(other, UNKNOWN_QUOTA);
    rmSync(path);
    await put(one, spent);
    await expect(put(other, UNKNOWN_QUOTA)).rejects.toThrow('readonly');
    expect((await seen(other)).state).toEqual(spent);
  });
});

test('the file is in the state folder of the user (XDG)', () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const pathIn = (stateHome: string | undefined): string => {
    vi.stubEnv('XDG_STATE_HOME', stateHome);
    return quotaFilePath();
  };
  expect(pathIn('/var/state')).toBe('/var/state/obsync/quota.db');
  const own = join(homedir(), '.local', 'state', 'obsync', 'quota.db');
  expect([pathIn(undefined), pathIn('relative')]).toEqual([own, own]);
});
