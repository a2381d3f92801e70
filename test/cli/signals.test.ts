import { expect, it, onTestFinished, vi } from 'vitest';
import { stopOnSignals } from '../../src/cli/signals.ts';

it('a wish to stop still listens while others are told of the signal, and no longer a second later', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const before = process.listenerCount('SIGTERM');
  const stop = stopOnSignals();
  // What restores the cursor of a live view ends the process when nobody else listens.
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
