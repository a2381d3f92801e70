import type { Item } from '../environment.ts';
import type { Row, TestMirror } from '../test-mirror.ts';
import { scoresOf } from './checkpoint-has-rows.ts';
import type { CommitTransition } from './commit-transition.ts';

const KEYS = {
  test_executions: ['env_id', 'sub_test_unique_id', 'id'],
  asset_health_score_history: ['env_id', 'asset_id', 'dimension', 'bucket_at'],
} as const;

/** The history keeps every execution and score of a committed page (R17). */
export function historyIsComplete(mirrored: TestMirror): {
  record(transition: CommitTransition): string[];
  missing(): string[];
} {
  const ever = new Set<string>();
  const missing = (): string[] => {
    const there = new Set(
      Object.keys(KEYS).flatMap((table) =>
        mirrored.rows(`select * from ${table}`).map((row) => keyIn(table as keyof typeof KEYS, row)),
      ),
    );
    return [...ever].filter((key) => !there.has(key)).map((key) => `${key} is missing from the history`);
  };
  return {
    record({ envId, stream, page }) {
      for (const item of (page?.items ?? []) as Item[]) for (const key of keysOf(envId, stream, item)) ever.add(key);
      return [];
    },
    missing: missing,
  };
}

function keysOf(envId: string, stream: CommitTransition['stream'], item: Item): string[] {
  if (stream === 'latest_test_executions' || stream === 'test_executions')
    return [keyIn('test_executions', { ...(item as Row), env_id: envId })];
  if (stream !== 'asset_health_scores') return [];
  return scoresOf(item).map((score) => keyIn('asset_health_score_history', { ...score, env_id: envId }));
}

function keyIn(table: keyof typeof KEYS, row: Row): string {
  return JSON.stringify([table, ...KEYS[table].map((name) => row[name])]);
}
