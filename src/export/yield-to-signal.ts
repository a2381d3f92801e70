import { setImmediate } from 'node:timers/promises';
import { SyncError } from '../core/errors.ts';

/** Yields to the event loop, so that a signal is noticed. @throws SyncError `signal` (R27) */
export async function yieldToSignal(signal: AbortSignal): Promise<void> {
  await setImmediate();
  if (signal.aborted) throw new SyncError('signal', 'stopped by a signal: run the command again');
}
