import { expect, test, vi } from 'vitest';
import { columnsOf } from '../../src/cli/command.ts';
import { INITIAL, nextProgress, renderProgress } from '../../src/cli/progress-state.ts';
import { watchRun } from '../../src/cli/progress-view.ts';
import type { StreamCounters } from '../../src/sync/stream-counter.ts';

import { testIo } from './setup.ts';

const SCREEN = { columns: 80, rows: 24 };

test('the live view of a command that reads no stream shows only its waits', () => {
  expect(renderProgress(INITIAL, 0, SCREEN)).toBe('');
  const about = 'GET /public/beta/environments: answered 503';
  const waiting = nextProgress(INITIAL, { type: 'wait', reason: 'retry', delayMs: 1500, about }, 0);
  expect(renderProgress(waiting, 0, SCREEN)).toBe(`${about}, retrying in 2 s`);
});

test('the live view escapes terminal control characters in names', () => {
  const environment = { id: 'e', name: 'red \u001b[31m', cron: null };
  const counters = { mode: 'scan', reason: 'first', rows: 1, pages: 1, requests: 1 } as StreamCounters;
  const state = nextProgress(INITIAL, { type: 'stream', environment, stream: 'assets', counters }, 0);
  expect(renderProgress(state, 0, SCREEN)).toMatch(/^ {2}red \\u001b\[31m {2}assets/);
});

test('a line of the live view that is longer than the terminal ends with an ellipsis', () => {
  const counters = { mode: 'scan', reason: 'first', rows: 10_000, pages: 5, requests: 6 } as StreamCounters;
  // The name of either is ten columns wide.
  for (const name of ['Production', '本番環境表']) {
    const environment = { id: 'e', name, cron: null };
    const state = nextProgress(INITIAL, { type: 'stream', environment, stream: 'latest_test_executions', counters }, 0);
    const [line = ''] = renderProgress(state, 0, { columns: 70, rows: 24 }).split('\n');
    expect(line).toMatch(/ {2}10000 rows {2}5 pa…$/);
  }
});

test('a terminal shows every failure of alerts once the run has ended', async () => {
  const io = testIo({});
  Object.assign(io.stderr, { isTTY: true });
  const { onProgress, close } = await watchRun(io, { logLevel: 'info', logFormat: 'text' });
  for (const name of ['watch', 'team'])
    onProgress({ type: 'alerts', delivered: 0, failed: 1, error: `${name}: it answered 503` });
  close();
  const line = (name: string) => `alerts: 0 messages delivered, 1 not delivered: ${name}: it answered 503\n`;
  expect(io.stderr.text).toContain(line('watch') + line('team'));
});

test('a quiet run opens its log with the first problem, and logs every problem before it ends', async () => {
  const io = testIo({});
  const log = vi.spyOn(io, 'log');
  const { onProgress, close } = await watchRun(io, { quiet: true });
  onProgress({ type: 'environments', environments: [], missing: [] });
  onProgress({ type: 'alerts', delivered: 1, failed: 0, error: null });
  expect(log).not.toHaveBeenCalled();
  onProgress({ type: 'environments', environments: [], missing: [{ id: 'e', name: 'old', cron: null }] });
  onProgress({ type: 'alerts', delivered: 0, failed: 1, error: 'team: it answered 503' });
  await close();
  expect(log).toHaveBeenCalledOnce();
  const lines = io.stderr.text.trimEnd().split('\n');
  expect(lines).toEqual([expect.stringContaining('old is no longer listed'), expect.stringContaining('not delivered')]);
});

test('a terminal of 0 columns counts as one of 80', () => {
  expect([{ columns: 0 }, {}, { columns: 132 }].map(columnsOf)).toEqual([80, 80, 132]);
});
