import { DatabaseError, escapeIdentifier } from 'pg';
import type { Destination } from '../../core/ports/destination.ts';
import type { Row, Stream } from '../../core/stream.ts';
import { analyzeShards, hasCitus } from './citus.ts';
import { isLost } from './lost-connection.ts';
import type { PostgresConnection, PostgresDatabase } from './transaction.ts';

/** Fewer rows don't make any plan worse. */
const MANY_ROWS = 1000;

/**
 * Tables that have doubled since they were last analyzed and have more than a few pages. Work tables are analyzed where
 * they are filled.
 */
const GROWN = `select relname as name from pg_class
  where relnamespace = to_regnamespace($1) and relkind = 'r' and relpersistence = 'p'
    and pg_relation_size(oid) > 2 * current_setting('block_size')::bigint * greatest(relpages, 8)`;

/**
 * The tables whose statistics seem to list every environment, but not this one: the server expects a condition on it to
 * match a single row, and joins each row with all rows of the environment.
 */
const WITHOUT_ENVIRONMENT = `select tablename as name from pg_stats
  where schemaname = $1 and attname = 'env_id' and n_distinct > 0
    and n_distinct <= cardinality(most_common_vals::text::text[]) and $2 <> all(most_common_vals::text::text[])`;

/**
 * PostgreSQL's statistics of a mirror's tables. It analyzes a new table only after a minute or later; until then it
 * expects any condition to match few rows, and the end of a round would read a table again for each of its rows.
 */
export function tableStatistics(database: PostgresDatabase, schema: string) {
  // Rows written by an earlier process count too.
  let changed = MANY_ROWS;
  const changedOf = new Map<string, number>();
  /** The rows of a stream that this process has written, and how many there were when it last analyzed their shards. */
  const growthOf = new Map<string, { readonly written: number; analyzed: number }>();
  let inCitus: boolean | null = null;
  return {
    /** Records that this many rows of a stream of the environment have been written. */
    note(envId: string, stream: Stream, rows: number): void {
      changed += rows;
      if (rows > 0) changedOf.set(envId, (changedOf.get(envId) ?? MANY_ROWS) + rows);
      const key = `${envId} ${stream.name}`;
      const { written = 0, analyzed = 0 } = growthOf.get(key) ?? {};
      growthOf.set(key, { written: written + rows, analyzed });
    },
    /**
     * Analyzes the tables that have grown much since the last time, and those without statistics on the environment. In
     * Citus, those of the stream, if many of their rows are new.
     */
    async refresh(envId: string, stream: Stream): Promise<void> {
      const [isMuch, isMuchOf] = [changed >= MANY_ROWS, (changedOf.get(envId) ?? 0) >= MANY_ROWS];
      if (isMuch) changed = 0;
      if (isMuchOf) changedOf.set(envId, 0);
      const growth = growthOf.get(`${envId} ${stream.name}`);
      const hasDoubled = growth !== undefined && growth.written >= Math.max(MANY_ROWS, 2 * growth.analyzed);
      if (hasDoubled) growth.analyzed = growth.written;
      if (isMuch || isMuchOf || hasDoubled)
        await database
          .session(async (connection) => {
            await analyzeLocal(connection, schema, { isMuch, envId: isMuchOf ? envId : null });
            if (hasDoubled) inCitus ??= await hasCitus(connection);
            if (hasDoubled && inCitus) await analyzeShards(connection, { schema, envId, tables: tablesOf(stream) });
          })
          .catch((error: unknown) => {
            // Without statistics the server is only slower. A lost connection fails the commit that follows.
            if (!(error instanceof DatabaseError || isLost(error))) throw error;
          });
    },
  };
}

function tablesOf({ table, staged, childTables = [], historyTables = [] }: Stream): string[] {
  const current = [{ table, staged }, ...childTables].flatMap((each) => [each.table, each.staged]);
  return [...current, ...historyTables.map((history) => history.table)].filter((name) => name !== undefined);
}

/** Analyzes the tables that have grown and, with `envId`, those without statistics on the environment. */
async function analyzeLocal(
  connection: PostgresConnection,
  schema: string,
  { isMuch, envId }: { isMuch: boolean; envId: string | null },
): Promise<void> {
  const [grown, missing] = await Promise.all([
    isMuch ? connection.query(GROWN, [escapeIdentifier(schema)]) : null,
    envId === null ? null : connection.query(WITHOUT_ENVIRONMENT, [schema, envId]),
  ]);
  const tableOf = ({ name }: Row): string => `${escapeIdentifier(schema)}.${escapeIdentifier(String(name))}`;
  // Skips a table that another process is analyzing.
  const analyze = (table: string): Promise<unknown> => connection.query(`analyze (skip_locked) ${table}`);
  for (const table of grown?.rows.map(tableOf) ?? []) await analyze(table);
  for (const table of missing?.rows.map(tableOf) ?? []) {
    const many = `select 1 from ${table} where env_id = $1 offset ${MANY_ROWS - 1} limit 1`;
    if ((await connection.query(many, [envId])).rows.length > 0) await analyze(table);
  }
}

/** The destination, analyzing grown tables before the end of each round. */
export function withStatistics(
  destination: Destination,
  { envId, statistics }: { envId: string; statistics: ReturnType<typeof tableStatistics> },
): Destination {
  return {
    ...destination,
    async commit(stream, commit, marking) {
      if (commit.kind === 'round-end') await statistics.refresh(envId, stream);
      const result = await destination.commit(stream, commit, marking);
      const staged = commit.kind === 'page' ? (commit.staged?.rows.length ?? 0) : 0;
      statistics.note(envId, stream, result.counts.written + staged);
      return result;
    },
  };
}
