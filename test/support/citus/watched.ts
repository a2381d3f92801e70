import type { PostgresConnection } from '../../../src/destination/postgres/transaction.ts';
import { partitionsOf } from './partitions.ts';
import { isPulled, type knownFunctions, needsOneEnvironment, parsed, refusedOf, tablesIn } from './rules.ts';

/** What was observed about a statement. */
export interface WatchedStatement {
  readonly text: string;
  /** What Citus refuses, one sentence each. */
  readonly refused: readonly string[];
  /** The most partitions that it touched. */
  readonly partitions: number;
  readonly needsOneEnvironment: boolean;
  /** Whether the coordinator reads its rows before it inserts them. */
  readonly isPulled: boolean;
  /** Whether it joins distributed tables with others. */
  readonly isMixed: boolean;
}

export interface WatchedConnection {
  readonly connection: PostgresConnection;
  readonly statements: ReadonlyMap<string, WatchedStatement>;
}

/** Statements that begin, configure or end a transaction, and those of the tests themselves. */
const APART = /^\s*(?:begin|commit|rollback|set|select set_config|create|drop|truncate|lock|alter|analyze)\b/i;

/** Checks each statement, with the values of its first call, before it is sent. */
export function checkedFirst(
  server: PostgresConnection,
  check: (text: string, values: readonly unknown[]) => Promise<WatchedStatement>,
): WatchedConnection {
  const statements = new Map<string, WatchedStatement>();
  const ask = async (text: string, values?: readonly unknown[]) => {
    if (!APART.test(text) && !statements.has(text)) statements.set(text, await check(text, values ?? []));
    return server.query(text, values);
  };
  // Statements are pipelined, so each check must finish before the next statement.
  let last: Promise<unknown> = Promise.resolve();
  const connection: PostgresConnection = {
    query(text, values) {
      const answer = last.then(() => ask(text, values));
      last = answer.catch(() => undefined);
      return answer;
    },
  };
  return { connection, statements };
}

/** Checks statements against the stand-in. */
export function watched(
  server: PostgresConnection,
  known: Awaited<ReturnType<typeof knownFunctions>>,
): WatchedConnection {
  return checkedFirst(server, async (text, values) => {
    const tree = await parsed(server, text);
    const { rows } = await server.query("select c.oid::text as oid from pg_class c where c.relkind = 'p'");
    const distributed = new Set(rows.map(({ oid }) => oid));
    const kinds = new Set(tablesIn(tree).map((oid) => distributed.has(oid)));
    return {
      text,
      refused: refusedOf(tree, known),
      partitions: (await partitionsOf(server, text, values)).size,
      needsOneEnvironment: needsOneEnvironment(tree),
      isPulled: isPulled(tree),
      isMixed: kinds.size > 1,
    };
  });
}
