import { escapeIdentifier } from 'pg';
import { VIEW_FUNCTIONS } from '../../schema/view-postgres.ts';
import { SyncError, usageError } from '../core/errors.ts';
import type { Row } from '../core/stream.ts';
import { SEQUENTIAL } from '../destination/postgres/citus.ts';
import { heldEnvironments } from '../destination/postgres/leases.ts';
import { mirrorTables } from '../destination/postgres/migrations.ts';
import { functionOf, postgresViews } from '../destination/postgres/views.ts';
import type { WorkTransaction } from '../workers/database.ts';

/**
 * Drops a schema that contains a mirror or nothing.
 * @throws SyncError `usage` if it contains anything else or is read by views, `locked` if a process is syncing into it
 */
export async function dropMirror(query: WorkTransaction['query'], schema: string): Promise<void> {
  const namesOf = async (sql: string): Promise<string[]> =>
    (await query(sql, [escapeIdentifier(schema)])).rows.map(({ name }) => String(name));
  const found = await namesOf(CONTENTS);
  const views = postgresViews().map(({ name }) => name);
  const ours = new Set([...mirrorTables(), ...views, ...JOURNALS, ...FUNCTIONS, ...views.map(functionOf)]);
  const others = found.filter((name) => !ours.has(name));
  if (others.length > 0)
    throw usageError(
      `the schema ${schema} contains ${others.slice(0, 3).join(', ')}, which obsync did not create: drop that first, or leave out --drop`,
    );
  const readers = await namesOf(READERS);
  if (readers.length > 0)
    throw usageError(
      `views of your own read the schema ${schema}, such as ${readers.slice(0, 3).join(', ')}: drop them first, or leave out --drop`,
    );
  await query(SEQUENTIAL);
  if (found.includes('lease_owners')) await refuseHeld(query, schema);
  await query(`drop schema if exists ${escapeIdentifier(schema)} cascade`);
}

const JOURNALS = ['__drizzle_migrations', '__obsync_views'];

const FUNCTIONS = [
  ...['comparable_number', 'comparable_json', 'same_json'],
  ...Object.keys(VIEW_FUNCTIONS).map((signature) => String(signature.split('(')[0])),
];

/** All that `drop … cascade` would drop, without what belongs to a table: its row type, indexes and numbering. */
const CONTENTS = `select relname as name from pg_class c where relnamespace = to_regnamespace($1)
    and (relkind in ('r', 'p', 'v', 'm', 'f', 'c') or relkind = 'S' and not exists (
      select 1 from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype in ('a', 'i')))
  union select proname from pg_proc where pronamespace = to_regnamespace($1)
  union select typname from pg_type where typnamespace = to_regnamespace($1)
    and typtype in ('b', 'd', 'e', 'r') and typcategory <> 'A'
  order by name`;

/** Views in other schemas. */
const READERS = `select distinct c.oid::regclass::text as name from pg_depend d
  join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
  join pg_class c on c.oid = r.ev_class and c.relnamespace <> to_regnamespace($1)
  where (d.refclassid, d.refobjid) in (
    select 'pg_class'::regclass, oid from pg_class where relnamespace = to_regnamespace($1)
    union all select 'pg_proc'::regclass, oid from pg_proc where pronamespace = to_regnamespace($1)
    union all select 'pg_type'::regclass, oid from pg_type where typnamespace = to_regnamespace($1))
  order by name`;

async function refuseHeld(query: WorkTransaction['query'], schema: string): Promise<void> {
  await query(`set local search_path to ${escapeIdentifier(schema)}`);
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
