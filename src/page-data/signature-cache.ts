import type { PageReads, PageScope } from './page-scope.ts';

/** A cached result, with the signature of the tables it was computed from. */
interface CachedResult<Result> {
  readonly signature: string;
  readonly result: Result;
}

/**
 * Caches a slow result until the tables it depends on change; most commits change other tables. `signature` identifies
 * the state of these tables, and `variant` distinguishes results of one function. Each mirror has its own cache, which
 * holds `capacity` results, one per environment, reader and `variant`.
 */
export function cacheBySignature<Result, Variant = void>(
  capacity: number,
  signature: (reads: PageReads, env: string) => string,
  compute: (reads: PageReads, scope: PageScope, variant: Variant) => Result,
): (reads: PageReads, scope: PageScope, variant: Variant) => Result {
  const caches = new WeakMap<object, Map<string, CachedResult<Result>>>();
  return (reads, scope, variant) => {
    const cache = caches.get(reads.memory) ?? new Map<string, CachedResult<Result>>();
    caches.set(reads.memory, cache);
    const key = JSON.stringify([scope.env, scope.limit, variant]);
    const now = signature(reads, scope.env);
    const known = cache.get(key);
    const entry = known?.signature === now ? known : { signature: now, result: compute(reads, scope, variant) };
    cacheRecent(cache, key, entry, capacity);
    return entry.result;
  };
}

/** Adds a value, and evicts the least recently used one beyond the capacity. */
export function cacheRecent<Value>(cache: Map<string, Value>, key: string, value: Value, capacity: number): void {
  cache.delete(key);
  cache.set(key, value);
  const [oldest] = cache.keys();
  if (cache.size > capacity && oldest !== undefined) cache.delete(oldest);
}

/** The signature of all tables of the environment. */
export function clockSignature(reads: PageReads, env: string): string {
  const sql = 'select mirrored_at from mirror_environments where env_id = @env';
  return String(reads.texts({ sql, values: { env } })[0]);
}

/** The signature of feed tables. Every change, deletions too, gives its rows a later time than any before (R21). */
export function feedSignature(reads: PageReads, env: string, tables: readonly string[]): string {
  const newest = tables.flatMap((table) =>
    ['is null', 'is not null'].map(
      (state) => `(select mirrored_at from ${table} where env_id = @env and deleted_at ${state}
        order by mirrored_at desc limit 1)`,
    ),
  );
  return String(reads.texts({ sql: `select json_array(${newest.join(', ')})`, values: { env } })[0]);
}

/** The signature of a snapshot table: a change leaves fewer rows, or a last row with the time of its commit (R21). */
export function snapshotSignature(reads: PageReads, table: string): string {
  const last = `select json_array(rowid, mirrored_at) from ${table} order by rowid desc limit 1`;
  return String(reads.texts({ sql: `select json_array((select count(*) from ${table}), (${last}))`, values: {} })[0]);
}

/** The signature of the scores and of their means, which follow at the end of the run. */
export function scoresSignature(reads: PageReads, env: string): string {
  const tables = ['asset_health_scores', 'asset_health_score_dimensions'];
  const states = tables.map(
    (table) => `(select json_array(count(*), max(mirrored_at)) from ${table} where env_id = @env)`,
  );
  states.push(`(select json_array(count(*), max(scores_at)) from asset_health_means where env_id = @env)`);
  const scores = reads.texts({ sql: `select json_array(${states.join(', ')})`, values: { env } });
  return `${scores[0]} ${feedSignature(reads, env, ['assets'])}`;
}
