import { addDays, earlierOf, type Instant } from '../time/instant.ts';

/** How many days of each history are kept; null keeps all. */
export interface RetentionPolicy {
  /** Older scores are thinned to the last one of each day. */
  readonly thinScoresDays: number | null;
  readonly keepScoresDays: number | null;
  readonly keepExecutionsDays: number | null;
  readonly keepRunsDays: number | null;
}

/** A history, and what happens to its rows before midnight of a day (UTC). */
export interface PruningRule {
  readonly history: 'asset_health_score_history' | 'test_executions';
  readonly action: 'thin' | 'delete';
  readonly before: Instant;
}

/** What has been pruned from a history of one environment, with the names of `pruned_history`. */
export interface PrunedHistory extends Pick<PruningRule, 'history' | 'action'> {
  readonly env_id: string;
  /** Rows before it are pruned; null until the first pruning has ended. */
  readonly complete_before: Instant | null;
  readonly row_count: number;
}

/** What is to be pruned (R17): by the earlier of `times`, because no clock may delete a history alone (R1). */
export function pruningRules(
  { thinScoresDays, keepScoresDays, keepExecutionsDays }: RetentionPolicy,
  times: readonly [Instant, Instant],
): PruningRule[] {
  const now = earlierOf(...times);
  const rule = (history: PruningRule['history'], action: PruningRule['action'], days: number | null): PruningRule[] => {
    if (days === null) return [];
    const day = addDays(now, -days).slice(0, '2026-11-20'.length);
    return [{ history, action, before: `${day}T00:00:00.000000Z` }];
  };
  return [
    // First, so that no score is thinned only to be deleted.
    ...rule('asset_health_score_history', 'delete', keepScoresDays),
    ...rule('asset_health_score_history', 'thin', thinScoresDays),
    ...rule('test_executions', 'delete', keepExecutionsDays),
  ];
}
