import { SyncError } from '../core/errors.ts';
import type { Row } from '../core/stream.ts';
import { SEQUENTIAL } from '../destination/postgres/citus.ts';
import { heldEnvironments } from '../destination/postgres/leases.ts';
import { mirrorTables } from '../destination/postgres/migrations.ts';
import { quoteIdentifier } from '../destination/postgres/settings.ts';
import { postgresViews } from '../destination/postgres/views.ts';
import type { WorkTransaction } from '../workers/database.ts';

/**
 * Drops a schema that contains a mirror or nothing.
 * @throws SyncError `usage` if it contains anything else, `locked` if a process is syncing into it
 */
export async function dropMirror(query: WorkTransaction['query'], schema: string): Promise<void> {
  const { rows } = await query(
    `select relname as name from pg_class where relnamespace = to_regnamespace($1) and relkind in ('r', 'p', 'v', 'm', 'f')
      order by relname`,
    [quoteIdentifier(schema)],
  );
  const found = rows.map(({ name }) => String(name));
  const ours = new Set([...mirrorTables(), ...postgresViews().map(({ name }) => name), ...JOURNALS]);
  const others = found.filter((name) => !ours.has(name));
  if (others.length > 0)
    throw new SyncError(
      'usage',
      `the schema ${schema} contains ${others.slice(0, 3).join(', ')}, which obsync did not create: drop that first, or leave out --drop`,
    );
  await query(SEQUENTIAL);
  if (found.includes('lease_owners')) await refuseHeld(query, schema);
  await query(`drop schema if exists ${quoteIdentifier(schema)} cascade`);
}

const JOURNALS = ['__drizzle_migrations', '__obsync_views'];

async function refuseHeld(query: WorkTransaction['query'], schema: string): Promise<void> {
  await query(`set local search_path to ${quoteIdentifier(schema)}`);
  // Anyone who takes a lease from now on waits for this transaction, and then finds no mirror.
  await query('lock table mirror_environments in exclusive mode');
  const held = await heldEnvironments({
    query: async (text, values) => ({ rows: (await query(text, values)).rows as Row[], changes: 0 }),
  });
  if (held.size === 0) return;
  throw new SyncError(
    'locked',
    `a process is syncing environment ${[...held].join(', ')} into the schema ${schema}: wait until it has ended`,
  );
}
