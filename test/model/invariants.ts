import type { StreamName } from '../../src/core/stream.ts';
import type { Mirrored, Row, Told } from './mirrored.ts';
import type { World } from './world.ts';

const SNAPSHOTS: Partial<Record<StreamName, readonly string[]>> = {
  asset_lineage: ['asset_lineage'],
  latest_test_executions: ['latest_test_executions'],
  asset_health_scores: ['asset_health_scores', 'asset_health_score_dimensions'],
};
const KEPT = ['test_executions', 'asset_health_score_history'];
const ROWS = ['assets', 'columns', 'tests', 'asset_lineage', 'latest_test_executions', 'asset_health_scores'];

/** All that a reader could see of the mirror, its own times included. */
export function contents(mirrored: Mirrored): string {
  const tables = [...ROWS, 'column_lineage', 'asset_health_score_dimensions', 'environments', 'rejected_rows', ...KEPT];
  return tables.map((table) => `${table} ${JSON.stringify(mirrored.rows(`select * from ${table}`))}`).join('\n');
}

/** Watches every commit of a mirror; `check` after a run says what was broken. */
export function guard(mirrored: Mirrored, world: World): { check(): string[] } {
  const broken: string[] = [];
  const firstPage = new Map<string, string | null>();
  let before = new Map<string, Row>();
  let kept = new Set<string>();
  let lastTime = '';

  const snapshot = (name: StreamName): string =>
    (SNAPSHOTS[name] ?? []).map((table) => JSON.stringify(mirrored.rows(`select * from ${table}`))).join();
  let shot = '';

  mirrored.beforeCommit = ({ stream }) => {
    shot = snapshot(stream);
  };
  mirrored.afterCommit = (told) => {
    const { commit, stream } = told;
    if (!commit.settle && !commit.release && snapshot(stream) !== shot) broken.push(`${stream} mixed by a page`);
    watermark(told);
  };

  /** R2: no more than the T of the run that committed the round's first page. */
  function watermark({ envId, stream, commit, serverTime }: Told): void {
    const key = `${envId} ${stream}`;
    if (commit.shown !== undefined && !firstPage.has(key)) firstPage.set(key, serverTime);
    if (commit.forget === 'all') firstPage.delete(key);
    if (commit.settle === undefined) return;
    const claimed = commit.checkpoint.watermark;
    const most = firstPage.has(key) ? firstPage.get(key) : serverTime;
    if (most && claimed !== null && claimed > most) broken.push(`${key} claims ${claimed}, read from ${most}`);
    firstPage.delete(key);
  }

  return {
    check() {
      const now = new Map<string, Row>();
      for (const table of ROWS)
        for (const row of mirrored.rows(`select * from ${table}`)) now.set(keyOf(table, row), row);
      for (const [key, row] of now) {
        const old = before.get(key);
        const [at, was] = [String(row['mirrored_at']), String(old?.['mirrored_at'])];
        if (old === undefined ? at <= lastTime : at < was) broken.push(`${key}: mirrored_at runs backwards, ${at}`);
        else if (old !== undefined && JSON.stringify(old) !== JSON.stringify(row) && at <= lastTime)
          broken.push(`${key}: changed at ${at}, the mirror was at ${lastTime}`);
      }
      for (const [key, row] of before)
        if (/^\["(assets|columns|tests)"/.test(key) && !now.has(key)) broken.push(`${key} vanished, ${row['name']}`);
      const keys = new Set(
        KEPT.flatMap((table) => mirrored.rows(`select * from ${table}`).map((r) => keyOf(table, r))),
      );
      for (const key of kept) if (!keys.has(key)) broken.push(`${key} was forgotten`);
      const time = String(mirrored.rows('select mirrored_at from mirror')[0]?.['mirrored_at'] ?? '');
      if (time < lastTime) broken.push(`the mirror's time runs backwards, ${time}`);
      [before, kept, lastTime] = [now, keys, time];
      return [...broken, ...world.violations];
    },
  };
}

const KEYS: Readonly<Record<string, string>> = {
  asset_lineage: 'upstream_asset_id downstream_asset_id',
  latest_test_executions: 'sub_test_unique_id id',
  asset_health_scores: 'asset_id',
  test_executions: 'sub_test_unique_id id',
  asset_health_score_history: 'asset_id dimension bucket_at',
};

/** An execution's id is part of its key: another run of a sub-test is another row. */
function keyOf(table: string, row: Row): string {
  const names = ['env_id', ...(KEYS[table] ?? 'id').split(' ')];
  return JSON.stringify([table, ...names.map((name) => row[name])]);
}
