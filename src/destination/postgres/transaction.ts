import { LEASE_MS } from '../../core/schedule/lease.ts';
import type { Row } from '../../core/stream.ts';
import type { SqlAnswer } from '../sql/statements.ts';
import type { PostgresConnection, PostgresTransaction } from './connection.ts';
import { isLost, UnknownOutcome } from './lost-connection.ts';
import { sqlStateOf } from './server-error.ts';
import { beginStatement, type TransactionSettings } from './settings.ts';

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
 * Does the work in a transaction of this connection, all of it or none. The first statement goes together with the
 * beginning if it changes nothing: were the beginning to fail, as when it is cancelled, it would be outside of the
 * transaction. All others wait for it.
 * @throws UnknownOutcome if nobody knows which
 */
export async function inTransaction<Done>(
  connection: PostgresConnection,
  { use = 'write', ...settings }: TransactionOptions,
  work: TransactionWork<Done>,
): Promise<Done> {
  // A process that is stopped between two statements loses its row locks with its lease (R26).
  const begin = beginStatement({ mode: 'isolation level read committed', idleTimeoutMs: LEASE_MS, ...settings });
  const failures: unknown[] = [];
  const noting = (answer: Promise<SqlAnswer>): Promise<SqlAnswer> => {
    answer.catch((reason: unknown) => failures.push(reason));
    return answer;
  };
  const begun = noting(connection.query(use === 'write-once' ? `${begin}; ${NUMBER}` : begin));
  const sent: Promise<unknown>[] = [];
  let isFirst = true;
  const query: PostgresConnection['query'] = (text, values) => {
    const isAtOnce = isFirst && CHANGES_NOTHING.test(text);
    isFirst = false;
    return noting(isAtOnce ? connection.query(text, values) : begun.then(() => connection.query(text, values)));
  };
  const send: PostgresTransaction['send'] = (text, values) => void sent.push(query(text, values));
  try {
    const done = await work({ query, send });
    // All that was sent goes before the commit. If one of the statements fails, the server takes back what it is told
    // to commit.
    const { rows } = await begun;
    const committed = handled(connection.query('commit'));
    await Promise.all(use === 'read' ? sent : [...sent, committed]).catch((error: unknown) => {
      throw use !== 'read' && isLost(error) ? new UnknownOutcome(error, numberIn(rows)) : error;
    });
    if (failures.length > 0) throw failures[0];
    return done;
  } catch (error) {
    // After a failure the server refuses all later statements: the first failure is the reason.
    const reason = sqlStateOf(error) === REFUSED ? failures[0] : error;
    // If that fails, the next transaction on the connection is refused, and is done again.
    if (!(isLost(reason) || reason instanceof UnknownOutcome)) await connection.query('rollback').catch(() => {});
    throw reason;
  }
}

const NUMBER = 'select pg_current_xact_id()::text as transaction';

function numberIn(rows: readonly Row[]): string | null {
  return (rows[0]?.['transaction'] ?? null) as string | null;
}

/** It takes nothing either that would outlast its statement. */
const CHANGES_NOTHING = /^\s*select\b/;

/** The code of PostgreSQL for a statement in a transaction that has failed. */
const REFUSED = '25P02';

/** A failure that is looked at later is not an unhandled one. */
export function handled<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => undefined);
  return promise;
}
