import { type PageScope, selectTexts } from './page-scope.ts';

/**
 * Caches a slow result until the tables it depends on change; most commits change other tables. `signature` identifies
 * the state of these tables, and `variant` distinguishes results of one function. Each mirror, or other owner, has its
 * own cache, which holds `capacity` results, one per environment, reader and `variant`.
 */
export function cacheBySignature<Result, Variant = void>(
  capacity: number,
  signature: (scope: PageScope) => string,
  compute: (scope: PageScope, variant: Variant) => Result,
  ownerOf: (scope: PageScope) => object = ({ reads }) => reads.memory,
): (scope: PageScope, variant: Variant) => Result {
  type CachedResult = { readonly signature: string; readonly result: Result };
  const caches = new WeakMap<object, Map<string, CachedResult>>();
  return (scope, variant) => {
    const owner = ownerOf(scope);
    const cache = caches.get(owner) ?? new Map<string, CachedResult>();
    caches.set(owner, cache);
    const key = JSON.stringify([scope.env, scope.limit, variant]);
    const now = signature(scope);
    const known = cache.get(key);
    const entry = known?.signature === now ? known : { signature: now, result: compute(scope, variant) };
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
export const clockSignature = (scope: PageScope): string =>
  selectSignature(scope, 'select mirrored_at from mirror_environments where env_id = @env');

const selectSignature = (scope: PageScope, sql: string): string => String(selectTexts(scope, sql)[0]);

/** The signature of feed tables. Every change, deletions too, gives its rows a later time than any before (R21). */
export function feedSignature(...tables: readonly string[]): (scope: PageScope) => string {
  const newest = tables.flatMap((table) =>
    ['is null', 'is not null'].map(
      (state) => `(select mirrored_at from ${table} where env_id = @env and deleted_at ${state}
        order by mirrored_at desc limit 1)`,
    ),
  );
  return (scope) => selectSignature(scope, `select json_array(${newest.join(', ')})`);
}

/** The signature of a snapshot table: a change leaves fewer rows, or a last row with the time of its commit (R21). */
export function snapshotSignature(table: string): (scope: PageScope) => string {
  const last = `select json_array(rowid, mirrored_at) from ${table} order by rowid desc limit 1`;
  return (scope) => selectSignature(scope, `select json_array((select count(*) from ${table}), (${last}))`);
}

/** The signature of the scores and of their means, which follow at the end of the run. */
export function scoresSignature(scope: PageScope): string {
  const state = (table: string, time = 'mirrored_at'): string =>
    `(select json_array(count(*), max(${time})) from ${table} where env_id = @env)`;
  const scores = ['asset_health_scores', 'asset_health_score_dimensions'].map((table) => state(table));
  const states = [...scores, state('asset_health_means', 'scores_at')];
  return `${selectSignature(scope, `select json_array(${states.join(', ')})`)} ${feedSignature('assets')(scope)}`;
}
