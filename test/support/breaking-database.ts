import { DatabaseError } from 'pg';
import type { PostgresConnection } from '../../src/destination/postgres/connection.ts';
import { LostConnection } from '../../src/destination/postgres/lost-connection.ts';
import {
  inTransaction,
  type PostgresDatabase,
  type TransactionUse,
  type TransactionWork,
} from '../../src/destination/postgres/transaction.ts';

/**
 * What happens at a statement: the connection is lost before it reaches the server, or before its answer is there, or the statement meets
 * another transaction.
 */
export type BreakKind = 'unsent' | 'unanswered' | 'conflict';

/** A schema over one connection that breaks at statements. */
export interface BreakingDatabase extends PostgresDatabase {
  /** How often it broke. */
  readonly breaks: () => number;
}

interface BreakOptions {
  readonly schema: string;
  readonly kind: BreakKind;
  /** Of so many statements it breaks at one, the `nth`; which one that is moves on with every transaction. */
  readonly every: number;
  readonly nth: number;
}

class Conflict extends DatabaseError {
  override readonly code = '40001';

  constructor(message: string) {
    super(message, message.length, 'error');
  }
}

/** A transaction that is tried again breaks at a later statement, so that after some tries it takes place. */
export function breakingDatabase(
  server: PostgresConnection,
  { schema, kind, every, nth }: BreakOptions,
): BreakingDatabase {
  let [last, done, tries, breaks]: [Promise<unknown>, number, number, number] = [Promise.resolve(), 0, 0, 0];

  async function attempt<Done>(work: TransactionWork<Done>, use?: TransactionUse): Promise<Done> {
    const breakAt = ((nth + every - (done % every)) % every) + tries * every;
    const { rows } = await server.query(`select last_value, is_called from "${schema}".sync_runs_id_seq`);
    const connection = breakingConnection(server, { kind, breakAt });
    try {
      const result = await inTransaction(connection, { schema, use }, work);
      [done, tries] = [done + 1, 0];
      return result;
    } catch (error) {
      tries += 1;
      breaks += 1;
      await server.query('rollback');
      // No number of a run is left out, because SQLite leaves none out.
      if (!connection.isCommitted())
        await server.query(`select setval('"${schema}".sync_runs_id_seq', $1::bigint, $2::bigint <> 0)`, [
          rows[0]?.['last_value'],
          rows[0]?.['is_called'],
        ]);
      throw error;
    }
  }

  return {
    transaction(work, use) {
      const next = last.then(() => attempt(work, use));
      last = next.catch(() => undefined);
      return next;
    },
    session: (work) => work(server),
    close: async () => undefined,
    breaks: () => breaks,
  };
}

interface BreakingConnection extends PostgresConnection {
  isCommitted(): boolean;
}

/** It breaks at the statement of this number, from 0, and answers none from then on. */
function breakingConnection(
  server: PostgresConnection,
  { kind, breakAt }: { readonly kind: BreakKind; readonly breakAt: number },
): BreakingConnection {
  let [sent, isBroken, isCommitted] = [0, false, false];
  return {
    isCommitted: () => isCommitted,
    async query(text, values) {
      const number = sent++;
      if (isBroken && kind !== 'conflict') throw new LostConnection('broken');
      // The server takes back a transaction in which a statement failed, also when it is told to commit it.
      if (isBroken) return server.query('rollback');
      const isHere = number === breakAt;
      isBroken ||= isHere;
      if (isHere && kind === 'unsent') throw new LostConnection('broken');
      if (isHere && kind === 'conflict') throw new Conflict('another transaction was first');
      const answer = await server.query(text, values);
      isCommitted ||= text === 'commit';
      if (isHere) throw new LostConnection('broken');
      return answer;
    },
  };
}
