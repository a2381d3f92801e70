import { DatabaseError } from 'pg';
import type { Commit, Destination } from '../../core/destination.ts';
import type { PostgresConnection } from './connection.ts';
import { isLost } from './lost-connection.ts';
import { quoted } from './settings.ts';
import type { PostgresDatabase } from './transaction.ts';

/**
 * What PostgreSQL knows of the tables of a mirror. It looks at a new table only after a minute or later; until then it takes any
 * condition for one that few rows meet, and the end of a round reads a table again for each of its rows.
 */
export interface TableStatistics {
  /** So many rows have been written. */
  note(rows: number): void;
  /** Has the server look at the tables that have grown much since it did so last. */
  refresh(): Promise<void>;
}

/** Fewer rows change no plan for the worse. */
const MANY_ROWS = 1000;

/** The tables twice as large as when they were looked at, and larger than a few pages. Work tables are looked at where they are filled. */
const GROWN = `select relname as name from pg_class
  where relnamespace = to_regnamespace($1) and relkind = 'r' and relpersistence = 'p'
    and pg_relation_size(oid) > 2 * current_setting('block_size')::bigint * greatest(relpages, 8)`;

export function tableStatistics(database: PostgresDatabase, schema: string): TableStatistics {
  const place = quoted(schema);
  // What an earlier process has written counts as well.
  let changed = MANY_ROWS;
  return {
    note(rows) {
      changed += rows;
    },
    async refresh() {
      if (changed < MANY_ROWS) return;
      changed = 0;
      await database
        .session((connection) => look(connection, place))
        .catch((error: unknown) => {
          // Without it the server is slower. A connection that is lost fails the commit that follows.
          if (!(error instanceof DatabaseError || isLost(error))) throw error;
        });
    },
  };
}

async function look(connection: PostgresConnection, place: string): Promise<void> {
  const { rows } = await connection.query(GROWN, [place]);
  // One that another process looks at now is left to it.
  for (const { name } of rows) await connection.query(`analyze (skip_locked) ${place}.${quoted(String(name))}`);
}

/** The same destination; before the end of a round the server looks at what has grown. */
export function withStatistics(destination: Destination, statistics: TableStatistics): Destination {
  return {
    ...destination,
    async commit(stream, commit, marking) {
      if (commit.kind === 'round-end') await statistics.refresh();
      const result = await destination.commit(stream, commit, marking);
      statistics.note(result.counts.written + stagedRows(commit));
      return result;
    },
  };
}

function stagedRows(commit: Commit): number {
  return commit.kind === 'page' ? (commit.staged?.rows.length ?? 0) : 0;
}
