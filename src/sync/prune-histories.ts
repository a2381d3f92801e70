import type { PruningRule } from '../core/decide/retention.ts';
import type { JoinedRun } from '../core/ports/state-store.ts';
import type { ClosingPorts } from './ports.ts';

/** How many rows a run removes per environment and rule: some seconds of work. The next runs remove the rest. */
const MAX_ROWS = 500_000;

/** Prunes the histories of these environments, which the run holds (R17). It stops at a signal (R27). */
export async function pruneHistories(
  { mirror, signal }: ClosingPorts,
  { id }: Pick<JoinedRun, 'id'>,
  envIds: readonly string[],
  rules: readonly PruningRule[],
): Promise<void> {
  if (rules.length === 0) return;
  for (const envId of envIds) {
    const destination = mirror.destination(envId, id);
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
