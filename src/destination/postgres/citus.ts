import { escapeIdentifier } from 'pg';
import { SyncError, usageError } from '../../core/errors.ts';
import type { DistributionReport } from '../mirror-store.ts';
import { heldEnvironments } from './leases.ts';
import { lockMigrations, mirrorTables } from './migrations.ts';
import { inTransaction, type PostgresConnection } from './transaction.ts';

/** All other tables are in its co-location group. Every commit begins with a row of it. */
const FIRST = 'mirror_environments';

/** It names environments but stays local: it has few rows and is joined with the runs. */
const LOCAL_TABLE = 'sync_stream_runs';

/** What commits and views call on the shards, each function after those that it calls. */
const FUNCTIONS = ['comparable_number(text)', 'comparable_json(text)', 'same_json(text, text)', 'element_labels(json)'];

/**
 * Citus changes functions and tables in one transaction only in this mode, and only if it was set before the first
 * query over several shards. Without Citus it changes nothing.
 */
export const SEQUENTIAL = "set local citus.multi_shard_modify_mode to 'sequential'";

/** @throws SyncError `usage` if the database has no Citus */
export async function refuseWithoutCitus(connection: PostgresConnection): Promise<void> {
  if (await hasCitus(connection)) return;
  throw usageError(
    'Citus is not installed in this database: run `create extension citus` in it on every node, or leave out --citus',
  );
}

/**
 * Distributes the tables of an up-to-date mirror by environment, in one transaction. Tables that are already
 * distributed stay as they are.
 * @throws SyncError `usage` if the database has no Citus, `locked` if a run writes to the mirror
 */
export async function distributeTables(connection: PostgresConnection, schema: string): Promise<DistributionReport> {
  await refuseWithoutCitus(connection);
  return inTransaction(connection, { schema }, async (inside) => {
    await inside.query(SEQUENTIAL);
    await lockMigrations(inside, schema);
    const { byEnvironment, others } = await tablesOf(inside);
    const known = await distributedTables(inside);
    const ahead = byEnvironment.filter((name) => !known.has(name));
    if (ahead.length > 0) await refuseWritten(inside);
    for (const signature of FUNCTIONS) await distributeFunction(inside, schema, signature);
    for (const name of ahead)
      await inside.query("select create_distributed_table($1::text::regclass, 'env_id', colocate_with => $2)", [
        `${escapeIdentifier(schema)}.${escapeIdentifier(name)}`,
        name === FIRST ? 'none' : `${escapeIdentifier(schema)}.${escapeIdentifier(FIRST)}`,
      ]);
    return { distributed_now: ahead, distributed: byEnvironment, local: others };
  });
}

export async function hasCitus(connection: PostgresConnection): Promise<boolean> {
  const { rows } = await connection.query("select 1 as is_there from pg_extension where extname = 'citus'");
  return rows.length > 0;
}

/** Analyzes an environment's shards of these tables on its node: the coordinator has no statistics of them. */
export async function analyzeShards(
  connection: PostgresConnection,
  { schema, envId, tables }: { schema: string; envId: string; tables: readonly string[] },
): Promise<void> {
  await connection.query(
    `select r.success from (
        select array_agg(n.nodename) as names, array_agg(n.nodeport) as ports,
          array_agg(format('analyze (skip_locked) %s', shard_name(c.oid, p.shardid))) as commands
        from pg_class c join pg_dist_partition d on d.logicalrelid = c.oid and d.partmethod = 'h'
        join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column(c.oid, $2::text)
        join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
        where c.relnamespace = to_regnamespace($1) and c.relname = any($3)
      ) s cross join master_run_on_worker(s.names, s.ports, s.commands, false) r`,
    [escapeIdentifier(schema), envId, tables],
  );
}

async function tablesOf(connection: PostgresConnection) {
  const { rows } = await connection.query(
    `select c.relname as name, exists (
        select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'env_id' and not a.attisdropped) as is_by_env
      from pg_class c where c.relnamespace = to_regnamespace(current_schema()) and c.relkind in ('r', 'p') and c.relname = any($1)
      order by c.relname <> $2, c.relname`,
    [mirrorTables(), FIRST],
  );
  const byEnvironment = rows.filter((row) => Number(row['is_by_env']) === 1 && row['name'] !== LOCAL_TABLE).map(nameOf);
  return { byEnvironment, others: rows.map(nameOf).filter((name) => !byEnvironment.includes(name)) };
}

/** Citus lists every table that it knows; `h` is one distributed by hash. */
async function distributedTables(connection: PostgresConnection): Promise<Set<string>> {
  const { rows } = await connection.query(
    `select c.relname as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
      where c.relnamespace = to_regnamespace(current_schema()) and p.partmethod = 'h'`,
  );
  return new Set(rows.map(nameOf));
}

function nameOf(row: Readonly<Record<string, unknown>>): string {
  return String(row['name']);
}

/** Moving tables during a run would make its commits fail. */
async function refuseWritten(connection: PostgresConnection): Promise<void> {
  const [envId] = await heldEnvironments(connection);
  if (envId !== undefined)
    throw new SyncError(
      'locked',
      `another process syncs environment ${envId} into this mirror: wait until it has ended`,
    );
}

/**
 * A session on a shard's node does not have the mirror's schema in its search path, so each function sets its own. A
 * function that does was distributed before; a migration that creates it again resets that.
 */
async function distributeFunction(connection: PostgresConnection, schema: string, signature: string): Promise<void> {
  const asked = 'select 1 from pg_proc where oid = $1::text::regprocedure and proconfig is not null';
  const name = `${escapeIdentifier(schema)}.${signature}`;
  const { rows } = await connection.query(asked, [name]);
  if (rows.length > 0) return;
  await connection.query(`alter function ${signature} set search_path to ${escapeIdentifier(schema)}`);
  await connection.query('select create_distributed_function($1::text::regprocedure)', [name]);
}
