import { LEASE_MS } from '../../core/lease.ts';
import type { SqlAnswer } from '../sql/statements.ts';
import type { PostgresConnection, PostgresTransaction } from './connection.ts';
import { isLost, UnknownOutcome } from './lost-connection.ts';
import { beginning, type TransactionSettings } from './settings.ts';

/**
 * What a transaction is for:
 * - `read`: it changes nothing, or nothing that matters if it is lost, so nobody waits for its end
 * - `write`: it may be done twice
 * - `write-once`: the server numbers it, so that it can be asked later what became of it
 */
export type TransactionUse = 'read' | 'write' | 'write-once';

/** Work of one transaction. */
export type TransactionWork<Done> = (inside: PostgresTransaction) => Promise<Done>;

/** The schema of a mirror in a PostgreSQL database. */
export interface PostgresDatabase {
  /** Does the work in a transaction, all of it or none. It is for `write` unless something else is said. */
  transaction<Done>(work: TransactionWork<Done>, use?: TransactionUse): Promise<Done>;
  /** Does work that makes its own transactions. */
  session<Done>(work: (connection: PostgresConnection) => Promise<Done>): Promise<Done>;
  close(): Promise<void>;
}

/** The schema of the mirror, and where they differ from those of a sync, the mode and the longest pause. */
type TransactionOptions = Pick<TransactionSettings, 'schema'> &
  Partial<TransactionSettings> & { readonly use?: TransactionUse | undefined };

/**
 * Does the work in a transaction of this connection, all of it or none.
 * @throws UnknownOutcome if nobody knows which
 */
export async function inTransaction<Done>(
  connection: PostgresConnection,
  { use = 'write', ...settings }: TransactionOptions,
  work: TransactionWork<Done>,
): Promise<Done> {
  // A process that is stopped in a transaction loses its row locks with its lease (R26).
  const begin = beginning({ mode: 'isolation level read committed', idleTimeoutMs: LEASE_MS, ...settings });
  const begun = handled(connection.query(use === 'write-once' ? `${begin}; ${NUMBER}` : begin));
  const sent: Promise<unknown>[] = [begun];
  const { query, begins } = afterBegin(connection, begun);
  const send: PostgresTransaction['send'] = (text, values) => void sent.push(handled(query(text, values)));
  const worked = work({ query, send }).then(async (result) => {
    await begins;
    return result;
  });
  const done = await worked.catch(async (error: unknown) => {
    // After a failure the server refuses all later statements: the first failure is the reason.
    const failed = (await Promise.allSettled(sent)).find((each) => each.status === 'rejected');
    const reason = failed === undefined ? error : failed.reason;
    if (!isLost(reason)) await connection.query('rollback');
    throw reason;
  });
  // If one of the statements has failed, the server takes back the transaction that it is told to commit.
  const committed = handled(connection.query('commit'));
  if (use === 'read') {
    await Promise.all(sent);
    return done;
  }
  try {
    await Promise.all([...sent, committed]);
  } catch (error) {
    throw isLost(error) ? new UnknownOutcome(error, await numberOf(begun)) : error;
  }
  return done;
}

const NUMBER = 'select pg_current_xact_id()::text as transaction';

async function numberOf(begun: Promise<SqlAnswer>): Promise<string | null> {
  const [row] = await begun.then(
    ({ rows }) => rows,
    () => [],
  );
  return (row?.['transaction'] ?? null) as string | null;
}

/**
 * Sends the first statement together with the beginning if it changes nothing: were the beginning to fail, as when it is cancelled, the
 * statement would be outside of the transaction. All others wait until the transaction has begun.
 */
function afterBegin(
  connection: PostgresConnection,
  begun: Promise<SqlAnswer>,
): PostgresConnection & { readonly begins: Promise<void> } {
  let [isFirst, isBegun] = [true, false];
  const begins = handled(
    begun.then(() => {
      isBegun = true;
    }),
  );
  return {
    begins,
    query(text, values) {
      const isAtOnce = isBegun || (isFirst && CHANGES_NOTHING.test(text));
      isFirst = false;
      return isAtOnce ? connection.query(text, values) : begins.then(() => connection.query(text, values));
    },
  };
}

const CHANGES_NOTHING = /^\s*select\b/;

/** A failure that is looked at later is not an unhandled one. */
export function handled<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => undefined);
  return promise;
}
