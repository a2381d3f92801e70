import { escapeIdentifier } from 'pg';
import { LEASE_MS } from '../../core/schedule/lease.ts';
import type { Row } from '../../core/stream.ts';
import type { SqlAnswer } from '../sql/statements.ts';
import { isLost, UnknownOutcome } from './lost-connection.ts';
import { sqlStateOf } from './server-error.ts';

/** A connection to the server, or one that a pooler lends for a transaction: it keeps no state between transactions. */
export interface PostgresConnection {
  /**
   * Runs one statement. `values` are those of `$1`, `$2`, …; values in the rows are converted to what SQLite would
   * return. A text without values may hold several statements; the result is that of the last one.
   */
  query(text: string, values?: readonly unknown[]): Promise<SqlAnswer>;
}

export interface PostgresTransaction extends PostgresConnection {
  /** Sends a statement without waiting for its result. If it fails, so does the transaction. */
  send(text: string, values?: readonly unknown[]): void;
}

/**
 * The use of a transaction:
 * - `read`: it changes nothing, so it may share its transaction with other reads
 * - `read-and-note`: its changes may be lost, so its commit is not waited for
 * - `write`: it may be repeated
 * - `write-once`: the server numbers it, so its outcome can be queried later
 */
export type TransactionUse = 'read' | 'read-and-note' | 'write' | 'write-once';

export type TransactionWork<Done> = (inside: PostgresTransaction) => Promise<Done>;

/** The schema of a mirror in a PostgreSQL database. */
export interface PostgresDatabase {
  /** Does the work in one transaction, for `write` by default. */
  transaction<Done>(work: TransactionWork<Done>, use?: TransactionUse): Promise<Done>;
  /** Does work that begins its own transactions. */
  session<Done>(work: (connection: PostgresConnection) => Promise<Done>): Promise<Done>;
  close(): Promise<void>;
}

interface TransactionSettings {
  readonly schema: string;
  /** Such as `isolation level read committed`. */
  readonly mode: string;
  /** How long it may be idle before the server ends it; 0 for no limit, and then no statement times out either. */
  readonly idleTimeoutMs: number;
}

/** The mirror's schema, and the settings that differ from a sync's. */
type TransactionOptions = Pick<TransactionSettings, 'schema'> &
  Partial<TransactionSettings> & { readonly use?: TransactionUse | undefined };

/**
 * Does the work in one transaction of this connection, which begins with its first statement. Until one changes
 * something, statements are sent together with `begin`. All others wait for it: if it failed, for example because it
 * was cancelled, they would run outside of the transaction. The commit is not waited for if nothing was changed.
 * @throws UnknownOutcome if it is unknown whether the transaction was committed
 */
export async function inTransaction<Done>(
  connection: PostgresConnection,
  { use = 'write', ...settings }: TransactionOptions,
  work: TransactionWork<Done>,
): Promise<Done> {
  // A process stopped between two statements loses its row locks together with its lease (R26).
  const begin = beginStatement({ mode: 'isolation level read committed', idleTimeoutMs: LEASE_MS, ...settings });
  const failures: unknown[] = [];
  const recordFailure = (answer: Promise<SqlAnswer>): Promise<SqlAnswer> => {
    answer.catch((reason: unknown) => failures.push(reason));
    return answer;
  };
  let begun: Promise<SqlAnswer> | null = null;
  let isChanging = false;
  const sent: Promise<unknown>[] = [];
  const query: PostgresConnection['query'] = (text, values) => {
    isChanging ||= !CHANGES_NOTHING.test(text);
    begun ??= recordFailure(connection.query(use === 'write-once' ? `${begin}; ${NUMBER}` : begin));
    // Also an early answer counts only if the transaction has begun: else it has none of the transaction's settings.
    const early = isChanging ? null : handled(connection.query(text, values));
    return recordFailure(begun.then(() => early ?? connection.query(text, values)));
  };
  const send: PostgresTransaction['send'] = (text, values) => void sent.push(query(text, values));
  try {
    const done = await work({ query, send });
    if (begun === null) return done;
    // Everything sent precedes the commit. If one of the statements fails, the server answers the commit with a
    // rollback.
    const { rows } = await begun;
    const committed = handled(connection.query('commit'));
    const isLasting = isChanging && (use === 'write' || use === 'write-once');
    await Promise.all(isLasting ? [...sent, committed] : sent).catch((error: unknown) => {
      throw isLasting && isLost(error) ? new UnknownOutcome(error, numberIn(rows)) : error;
    });
    if (failures.length > 0) throw failures[0];
    return done;
  } catch (error) {
    // After a failure the server refuses all later statements; the first failure is the reason.
    const reason = sqlStateOf(error) === REFUSED ? failures[0] : error;
    // If the rollback fails, the next transaction on the connection is refused, and is retried.
    const isOpen = begun !== null && !(isLost(reason) || reason instanceof UnknownOutcome);
    if (isOpen) await connection.query('rollback').catch(() => {});
    throw reason;
  }
}

/**
 * Begins a transaction and sets where its tables are and how the server writes values. A pooler may use another session
 * for each transaction, so nothing is set beyond it; temporary tables come last in the search path, because the session
 * may hold another program's. The statements have no values, so one message holds them all.
 */
export function beginStatement({ schema, mode, idleTimeoutMs }: TransactionSettings): string {
  return `begin ${mode}; set local search_path to ${escapeIdentifier(schema)}, pg_temp; set local timezone to 'UTC'; set local datestyle to 'ISO';
    set local extra_float_digits to 1; set local idle_in_transaction_session_timeout to ${idleTimeoutMs}${idleTimeoutMs === 0 ? '; set local statement_timeout to 0; set local bytea_output to hex' : ''}`;
}

const NUMBER = 'select pg_current_xact_id()::text as transaction';

function numberIn(rows: readonly Row[]): string | null {
  return (rows[0]?.['transaction'] ?? null) as string | null;
}

/**
 * A statement that is harmless outside of a transaction: it changes nothing, and its locks end with it. A `select` that
 * calls a function which writes would match too: don't begin a transaction with one.
 */
const CHANGES_NOTHING = /^\s*(?:select|with(?!.*\b(?:insert|update|delete|merge)\b))\b/is;

/** PostgreSQL's code for a statement in a failed transaction. */
export const REFUSED = '25P02';

/** Marks a failure that is examined later as handled. */
export function handled<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => undefined);
  return promise;
}
