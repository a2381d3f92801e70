import { accountTime, type TimeLook } from '../../core/account-time.ts';
import type { QuotaChange, QuotaKeeper } from '../../core/quota-keeper.ts';
import { quotaOfText, textOfQuota } from '../../core/quota-text.ts';
import type { PostgresConnection } from './connection.ts';

export interface QuotaRowOptions {
  /** Does the work in a transaction, all of it or none. It may do it again: a change that is made twice is made once. */
  readonly transaction: <Done>(work: (connection: PostgresConnection) => Promise<Done>) => Promise<Done>;
  /** The account's key. */
  readonly account: string;
  /** A monotonic clock of this process. */
  readonly nowMs: () => number;
}

/**
 * Keeps the state of an account's quota in a row, for all processes that reach the database (R23). Mirrors of one account may have
 * schemas of their own, so the row is in none of them. Its clock is the server's.
 */
export function rowKeeper(options: QuotaRowOptions): QuotaKeeper {
  let isReady = false;
  let seen: TimeLook['seen'] = null;
  return {
    async change(quotaChange) {
      if (!isReady) await options.transaction(prepare);
      isReady = true;
      const { result, atMs, ownMs } = await options.transaction((connection) =>
        changeRow(connection, options, { quotaChange, seen }),
      );
      seen = { atMs, ownMs };
      return result;
    },
    async close() {},
  };
}

/** Makes the table if it is missing. Only then must the user be allowed to make a schema. */
async function prepare(connection: PostgresConnection): Promise<void> {
  if (await isThere(connection)) return;
  // A lock of the transaction: two processes that make the same schema would fail.
  await connection.query("select pg_advisory_xact_lock(hashtextextended('obsync_accounts', 0))");
  if (await isThere(connection)) return;
  for (const statement of ACCOUNT_TABLES) await connection.query(statement);
}

async function isThere(connection: PostgresConnection): Promise<boolean> {
  const { rows } = await connection.query("select to_regclass('obsync_accounts.account_quotas')::text as name");
  return rows[0]?.['name'] !== null;
}

const ACCOUNT_TABLES = [
  'create schema if not exists obsync_accounts',
  `create table if not exists obsync_accounts.account_quotas (
    account text collate "C" primary key, state text not null, at_ms double precision not null,
    offset_ms double precision not null, used_at timestamptz not null)`,
];

/** Whoever has the row must not keep it from the others for longer, even if its process is stopped. */
const END_IF_STOPPED = 'set local idle_in_transaction_session_timeout = 10000';
const TAKE = `select state, at_ms, offset_ms from obsync_accounts.account_quotas where account = $1 for update`;
/** Asked after the row is taken, which may take a while. */
const CLOCK = 'select (extract(epoch from clock_timestamp()) * 1000)::double precision as clock_ms';
const ADD = `insert into obsync_accounts.account_quotas (account, state, at_ms, offset_ms, used_at)
  values ($1, '', 0, 0, clock_timestamp()) on conflict (account) do nothing`;
const WRITE = `update obsync_accounts.account_quotas set state = $2, at_ms = $3, offset_ms = $4, used_at = clock_timestamp()
  where account = $1`;

/** An account that nobody has used for so long is forgotten. */
const FORGET = `delete from obsync_accounts.account_quotas where used_at < clock_timestamp() - interval '7 days'`;

interface TakenRow extends Pick<TimeLook, 'clockMs' | 'offsetMs' | 'writtenMs'> {
  readonly text: string;
}

async function changeRow<Result>(
  connection: PostgresConnection,
  { account, nowMs }: QuotaRowOptions,
  { quotaChange, seen }: { quotaChange: QuotaChange<Result>; seen: TimeLook['seen'] },
): Promise<{ readonly result: Result; readonly atMs: number; readonly ownMs: number }> {
  const { text, ...look } = await takeRow(connection, account);
  const ownMs = nowMs();
  const { atMs, offsetMs } = accountTime({ ...look, ownMs, seen });
  const { state, result } = quotaChange(quotaOfText(text), atMs);
  await connection.query(WRITE, [account, textOfQuota(state), atMs, offsetMs]);
  return { result, atMs, ownMs };
}

/** Takes the row, with the time since when nobody else has it. */
async function takeRow(connection: PostgresConnection, account: string): Promise<TakenRow> {
  // Statements that need no answer of the one before are sent together.
  const [, taken, clock] = await Promise.all([
    connection.query(END_IF_STOPPED),
    connection.query(TAKE, [account]),
    connection.query(CLOCK),
  ]);
  const row = taken.rows[0];
  if (row === undefined) return addRow(connection, account);
  const { state, at_ms, offset_ms } = row;
  const clockMs = Number(clock.rows[0]?.['clock_ms']);
  return { text: String(state), writtenMs: Number(at_ms), offsetMs: Number(offset_ms), clockMs };
}

async function addRow(connection: PostgresConnection, account: string): Promise<TakenRow> {
  await connection.query(FORGET);
  await connection.query(ADD, [account]);
  return takeRow(connection, account);
}
