import type { Item } from '../environment.ts';
import { expectedRow } from '../expected-rows.ts';
import { SHORTEST_RETENTION } from '../retention.ts';
import type { Row, TestMirror } from '../test-mirror.ts';
import { isPruned, scoresOf } from './checkpoint-has-rows.ts';
import type { CommitTransition } from './commit-transition.ts';

const KEYS = {
  test_executions: ['env_id', 'sub_test_unique_id', 'id'],
  asset_health_score_history: ['env_id', 'asset_id', 'dimension', 'bucket_at'],
} as const;

const DAY_MS = 86_400_000;

type History = keyof typeof KEYS;

/** The history keeps every execution and score of a committed page that no retention option lets go (R17). */
export function historyIsComplete(
  mirrored: TestMirror,
  machineMs: () => number,
): {
  record(transition: CommitTransition): string[];
  missing(): string[];
} {
  const ever = new Map<string, { readonly history: History; readonly row: Row }>();
  let latestMs = 0;
  return {
    record({ envId, stream, page }) {
      latestMs = Math.max(latestMs, machineMs());
      for (const item of (page?.items ?? []) as Item[])
        for (const seen of rowsOf(envId, stream, item)) ever.set(keyIn(seen.history, seen.row), seen);
      return [];
    },
    missing() {
      // A run that committed no page may have pruned.
      latestMs = Math.max(latestMs, machineMs());
      const there = new Set(
        (Object.keys(KEYS) as History[]).flatMap((history) =>
          mirrored.rows(`select * from ${history}`).map((row) => keyIn(history, row)),
        ),
      );
      const isAllowed = ({ history, row }: { history: History; row: Row }): boolean =>
        isPruned(mirrored.rows, row, { envId: String(row['env_id']), history });
      const gone = [...ever].filter(([key, seen]) => !there.has(key) && !isAllowed(seen));
      return [...gone.map(([key]) => `${key} is missing from the history`), ...prunedTooEarly(mirrored, latestMs)];
    },
  };
}

/** What was pruned although the shortest retention keeps it, by the machine's latest time so far. */
function prunedTooEarly(mirrored: TestMirror, latestMs: number): string[] {
  const { thinScoresDays, keepExecutionsDays } = SHORTEST_RETENTION;
  const days: Readonly<Record<string, number | null>> = {
    asset_health_score_history: thinScoresDays,
    test_executions: keepExecutionsDays,
  };
  return mirrored.rows('select * from pruned_history').flatMap((row) => {
    const before = Date.parse(String(row['complete_before'] ?? row['pruning_before']));
    const isEarly = before > latestMs - Number(days[String(row['history'])]) * DAY_MS;
    return isEarly ? [`${row['history']} is pruned up to ${new Date(before).toISOString()}`] : [];
  });
}

function rowsOf(envId: string, stream: CommitTransition['stream'], item: Item): { history: History; row: Row }[] {
  if (stream === 'latest_test_executions' || stream === 'test_executions')
    return [{ history: 'test_executions', row: { ...expectedRow('test_executions', item), env_id: envId } }];
  if (stream !== 'asset_health_scores') return [];
  return scoresOf(item).map((score) => ({ history: 'asset_health_score_history', row: { ...score, env_id: envId } }));
}

function keyIn(table: History, row: Row): string {
  return JSON.stringify([table, ...KEYS[table].map((name) => row[name])]);
}
