import type { JoinedRun } from '../core/ports/state-store.ts';
import type { ClosingPorts } from './ports.ts';

/**
 * How many scores a run reads per environment, about a second of work. A deleted asset may have scores on every day of
 * a long history; the remaining days, the oldest, are left to the next runs.
 */
const MAX_SCORES = 200_000;

/**
 * Computes the mean scores of the stale days of these environments, which the run holds. It stops at a signal (R27).
 */
export async function renewDays(
  { mirror, signal }: ClosingPorts,
  { id }: Pick<JoinedRun, 'id'>,
  envIds: readonly string[],
): Promise<void> {
  for (const envId of envIds) {
    if (!(await mirror.state.hasStaleDays(envId))) continue;
    const destination = mirror.destination(envId, id);
    let lookedUp = 0;
    while (lookedUp < MAX_SCORES && !signal.aborted) lookedUp += (await destination.renewDay()) ?? MAX_SCORES;
  }
}
