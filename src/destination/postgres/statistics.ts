import { DatabaseError } from 'pg';
import type { Commit, Destination } from '../../core/ports/destination.ts';
import type { PostgresConnection } from './connection.ts';
import { isLost } from './lost-connection.ts';
import { quoteIdentifier } from './settings.ts';
import type { PostgresDatabase } from './transaction.ts';

/**
 * What PostgreSQL knows of the tables of a mirror. It looks at a new table only after a minute or later; until then it
 * takes any condition for one that few rows meet, and the end of a round reads a table again for each of its rows.
 */
export interface TableStatistics {
  /** So many rows of the environment have been written. */
  note(envId: string, rows: number): void;
  /**
   * Has the server look at the tables that have grown much since it did so last, and at those in which it knows nothing
   * of the environment.
   */
  refresh(envId: string): Promise<void>;
}

/** Fewer rows change no plan for the worse. */
const MANY_ROWS = 1000;

/**
 * The tables twice as large as when they were looked at, and larger than a few pages. Work tables are looked at where
 * they are filled.
 */
const GROWN = `select relname as name from pg_class
  where relnamespace = to_regnamespace($1) and relkind = 'r' and relpersistence = 'p'
    and pg_relation_size(oid) > 2 * current_setting('block_size')::bigint * greatest(relpages, 8)`;

/**
 * The tables where the server believes to know every environment, and does not know this one: it takes any condition on
 * it for one that a single row meets, and joins each row with all rows of the environment.
 */
const WITHOUT_ENVIRONMENT = `select tablename as name from pg_stats
  where schemaname = $1 and attname = 'env_id' and n_distinct > 0
    and n_distinct <= cardinality(most_common_vals::text::text[]) and $2 <> all(most_common_vals::text::text[])`;

export function tableStatistics(database: PostgresDatabase, schema: string): TableStatistics {
  // What an earlier process has written counts as well.
  let changed = MANY_ROWS;
  const changedOf = new Map<string, number>();
  return {
    note(envId, rows) {
      changed += rows;
      if (rows > 0) changedOf.set(envId, (changedOf.get(envId) ?? MANY_ROWS) + rows);
    },
    async refresh(envId) {
      const [isMuch, isMuchOf] = [changed >= MANY_ROWS, (changedOf.get(envId) ?? 0) >= MANY_ROWS];
      if (isMuch) changed = 0;
      if (isMuchOf) changedOf.set(envId, 0);
      if (isMuch || isMuchOf)
        await database
          .session(async (connection) => {
            if (isMuch) await lookAtGrown(connection, schema);
            if (isMuchOf) await lookFor(connection, schema, envId);
          })
          .catch((error: unknown) => {
            // Without it the server is slower. A connection that is lost fails the commit that follows.
            if (!(error instanceof DatabaseError || isLost(error))) throw error;
          });
    },
  };
}

async function lookAtGrown(connection: PostgresConnection, schema: string): Promise<void> {
  const { rows } = await connection.query(GROWN, [quoteIdentifier(schema)]);
  for (const { name } of rows) await look(connection, schema, String(name));
}

async function lookFor(connection: PostgresConnection, schema: string, envId: string): Promise<void> {
  const { rows } = await connection.query(WITHOUT_ENVIRONMENT, [schema, envId]);
  for (const { name } of rows)
    if (await hasMany(connection, tableIn(schema, String(name)), envId)) await look(connection, schema, String(name));
}

async function hasMany(connection: PostgresConnection, table: string, envId: string): Promise<boolean> {
  const { rows } = await connection.query(`select 1 from ${table} where env_id = $1 offset ${MANY_ROWS - 1} limit 1`, [
    envId,
  ]);
  return rows.length > 0;
}

async function look(connection: PostgresConnection, schema: string, name: string): Promise<void> {
  // One that another process looks at now is left to it.
  await connection.query(`analyze (skip_locked) ${tableIn(schema, name)}`);
}

const tableIn = (schema: string, name: string): string => `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`;

/** The same destination; before the end of a round the server looks at what has grown. */
export function withStatistics(
  destination: Destination,
  { envId, statistics }: { envId: string; statistics: TableStatistics },
): Destination {
  return {
    ...destination,
    async commit(stream, commit, marking) {
      if (commit.kind === 'round-end') await statistics.refresh(envId);
      const result = await destination.commit(stream, commit, marking);
      statistics.note(envId, result.counts.written + stagedRows(commit));
      return result;
    },
  };
}

function stagedRows(commit: Commit): number {
  return commit.kind === 'page' ? (commit.staged?.rows.length ?? 0) : 0;
}
