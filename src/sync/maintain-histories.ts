import type { PruningRule } from '../core/decide/retention.ts';
import type { OpenMirror } from '../core/ports/open-mirror.ts';

/** The mirror, and the run that holds its environments. The signal ends the maintenance (R27). */
export interface MaintenancePorts {
  readonly mirror: Pick<OpenMirror, 'state' | 'destination'>;
  readonly run: number;
  readonly signal: AbortSignal;
}

/** How many rows a run removes per environment and rule: some seconds of work. The next runs remove the rest. */
const MAX_ROWS = 500_000;

/** Prunes the histories of these environments (R17). */
export async function pruneHistories(
  { mirror, run, signal }: MaintenancePorts,
  envIds: readonly string[],
  rules: readonly PruningRule[],
): Promise<void> {
  if (rules.length === 0) return;
  for (const envId of envIds) {
    const destination = mirror.destination(envId, run);
    const pruned = await mirror.state.prunedHistory(envId);
    const done = new Map(pruned.map((each) => [keyOf(each), each.complete_before ?? '']));
    for (const rule of rules.filter((each) => (done.get(keyOf(each)) ?? '') < each.before)) {
      let removed: number | null = 0;
      for (let total = 0; removed !== null && total < MAX_ROWS && !signal.aborted; total += removed ?? 0)
        removed = await destination.pruneHistory(rule);
    }
  }
}

function keyOf({ history, action }: Pick<PruningRule, 'history' | 'action'>): string {
  return `${action} ${history}`;
}

/**
 * How many scores a run reads per environment, about a second of work. A deleted asset may have scores on every day of
 * a long history; the remaining days, the oldest, are left to the next runs.
 */
const MAX_SCORES = 200_000;

/** Computes the mean scores of the stale days of these environments. */
export async function renewDays({ mirror, run, signal }: MaintenancePorts, envIds: readonly string[]): Promise<void> {
  for (const envId of envIds) {
    if (!(await mirror.state.hasStaleDays(envId))) continue;
    const destination = mirror.destination(envId, run);
    let lookedUp = 0;
    while (lookedUp < MAX_SCORES && !signal.aborted) lookedUp += (await destination.renewDay()) ?? MAX_SCORES;
  }
}
