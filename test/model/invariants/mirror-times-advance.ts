import type { Row, TestMirror } from '../test-mirror.ts';

const KEYS: Readonly<Record<string, readonly string[]>> = {
  assets: ['id'],
  columns: ['id'],
  tests: ['id'],
  asset_lineage: ['upstream_asset_id', 'downstream_asset_id'],
  latest_test_executions: ['sub_test_unique_id', 'id'],
  asset_health_scores: ['asset_id'],
};

/** The mirror's own time never moves back, and every row that changed between two checks has a later time (R21). */
export function mirrorTimesAdvance(mirrored: TestMirror): () => string[] {
  let before = new Map<string, Row>();
  let lastTime = '';
  return () => {
    const now = new Map(
      Object.entries(KEYS).flatMap(([table, names]) =>
        mirrored
          .rows(`select * from ${table}`)
          .map((row): [string, Row] => [JSON.stringify([table, row['env_id'], ...names.map((n) => row[n])]), row]),
      ),
    );
    const found = [...now].flatMap(([key, row]) => backwards(key, { row, old: before.get(key), lastTime }));
    const time = String(
      mirrored.rows('select max(mirrored_at) mirrored_at from mirror_environments')[0]?.['mirrored_at'] ?? '',
    );
    if (time < lastTime) found.push(`the mirror moved back from ${lastTime} to ${time}`);
    [before, lastTime] = [now, time];
    return found;
  };
}

function backwards(
  key: string,
  { row, old, lastTime }: { row: Row; old: Row | undefined; lastTime: string },
): string[] {
  const [at, was] = [String(row['mirrored_at']), String(old?.['mirrored_at'])];
  if (old !== undefined && at < was) return [`${key} moved back from ${was} to ${at}`];
  const changed = old === undefined || JSON.stringify(old) !== JSON.stringify(row);
  return changed && at <= lastTime ? [`${key} changed at ${at}, when the mirror was at ${lastTime}`] : [];
}
