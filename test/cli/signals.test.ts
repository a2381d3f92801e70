import { spawnSync } from 'node:child_process';
import { expect, onTestFinished, test, vi } from 'vitest';
import { stopOnSignals } from '../../src/cli/signals.ts';

test('a stop request stays registered while other listeners receive the signal, and is gone a second later', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const before = process.listenerCount('SIGTERM');
  const stop = stopOnSignals();
  // The listener that restores a live view's cursor ends the process if it is the only one.
  let told = 0;
  const other = (): void => {
    told = process.listenerCount('SIGTERM');
  };
  process.on('SIGTERM', other);
  onTestFinished(() => void process.off('SIGTERM', other));
  process.emit('SIGTERM', 'SIGTERM');
  expect({ told, received: stop.received(), aborted: stop.signal.aborted }).toEqual({
    told: before + 2,
    received: 'SIGTERM',
    aborted: true,
  });
  vi.advanceTimersByTime(999);
  expect(process.listenerCount('SIGTERM')).toBe(before + 2);
  vi.advanceTimersByTime(1);
  expect(process.listenerCount('SIGTERM')).toBe(before + 1);
});

test('a signal ends the process if it has not stopped after four seconds, but not after a finished stop (R27)', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => void vi.restoreAllMocks());
  const ended = stopOnSignals();
  process.emit('SIGINT', 'SIGINT');
  vi.advanceTimersByTime(3999);
  ended.dispose();
  vi.advanceTimersByTime(10_000);
  expect(kill).not.toHaveBeenCalled();
  stopOnSignals();
  process.emit('SIGTERM', 'SIGTERM');
  vi.advanceTimersByTime(4000);
  expect(kill.mock.calls).toEqual([[process.pid, 'SIGTERM']]);
  expect(process.listenerCount('SIGTERM')).toBe(0);
  expect(String(write.mock.calls[0]?.[0])).toMatch(/obsync: stopped in the middle of a long write: [^\n]+\n$/);
});

test('process 1 of a container, which no signal ends, is replaced by a program that exits immediately (R27)', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  vi.spyOn(process, 'pid', 'get').mockReturnValue(1);
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  const execve = vi.spyOn(process, 'execve').mockReturnValue(undefined as never);
  onTestFinished(() => void vi.restoreAllMocks());
  stopOnSignals();
  process.emit('SIGTERM', 'SIGTERM');
  vi.advanceTimersByTime(4000);
  expect(kill).not.toHaveBeenCalled();
  const [program = '', words = []] = execve.mock.calls[0] ?? [];
  expect(spawnSync(program, words.slice(1)).status).toBe(143);
});
