import type { PageReads } from './page-scope.ts';

/** What is kept of one kind for an environment: what it was made of, and what was made. */
interface KeptPart<Made> {
  readonly signature: string;
  readonly made: Made;
}

/** The most environments of which something of one kind is kept. */
const MOST_KEPT = 2;

/**
 * Keeps what takes long to make of a mirror until the tables that it is made of have changed: most commits change others. `signature` tells
 * their states apart.
 */
export function keeping<Made>(
  signature: (pageReads: PageReads, env: string) => string,
  make: (pageReads: PageReads, env: string) => Made,
): (pageReads: PageReads, env: string) => Made {
  const kept = new WeakMap<object, Map<string, KeptPart<Made>>>();
  return (pageReads, env) => {
    const parts = kept.get(pageReads.memory) ?? new Map<string, KeptPart<Made>>();
    kept.set(pageReads.memory, parts);
    const now = signature(pageReads, env);
    const known = parts.get(env);
    const part = known?.signature === now ? known : { signature: now, made: make(pageReads, env) };
    // The environment that was not asked about for the longest time makes room.
    parts.delete(env);
    parts.set(env, part);
    const [oldest] = parts.keys();
    if (parts.size > MOST_KEPT && oldest !== undefined) parts.delete(oldest);
    return part.made;
  };
}

/** Of feed tables: every change stamps its rows with a later time than any before, deleted rows as well (R21). */
export function feedSignature(pageReads: PageReads, env: string, tables: readonly string[]): string {
  const newest = tables.flatMap((table) =>
    ['is null', 'is not null'].map(
      (state) => `(select mirrored_at from ${table} where env_id = @env and deleted_at ${state}
        order by mirrored_at desc limit 1)`,
    ),
  );
  return String(pageReads.texts({ sql: `select json_array(${newest.join(', ')})`, values: { env } })[0]);
}

/**
 * Of a table whose rows come and go whole: a change without a new row leaves fewer rows, and a new row is the last one, with the time of its
 * commit (R21).
 */
export function snapshotSignature(pageReads: PageReads, table: string): string {
  const last = `select json_array(rowid, mirrored_at) from ${table} order by rowid desc limit 1`;
  return String(
    pageReads.texts({ sql: `select json_array((select count(*) from ${table}), (${last}))`, values: {} })[0],
  );
}
