import type { QuotaChange, QuotaKeeper } from '../../core/ports/quota-keeper.ts';
import { type AccountTimeReading, accountTime } from '../../core/quota/account-time.ts';
import { quotaOfText, textOfQuota } from '../../core/quota/quota-text.ts';
import type { PostgresConnection, PostgresTransaction, TransactionWork } from './transaction.ts';
import { codeOf } from './views.ts';

/** How long a transaction may hold the row of a quota without a statement. */
export const QUOTA_IDLE_MS = 10_000;

export interface QuotaRowOptions {
  /**
   * Does the work in one transaction, and may repeat it: a change applied twice has the effect of one. The server must
   * end a transaction after `QUOTA_IDLE_MS` without a statement, so a stopped process does not keep the row from
   * others.
   */
  readonly transaction: <Done>(work: TransactionWork<Done>) => Promise<Done>;
  readonly account: string;
  /** A monotonic clock of this process. */
  readonly nowMs: () => number;
}

/**
 * Stores the state of an account's quota in a row, for all processes that reach the database (R23). Mirrors of one
 * account may have schemas of their own, so the row is in none of them. Its clock is the server's.
 */
export function rowKeeper(options: QuotaRowOptions): QuotaKeeper {
  let seen: AccountTimeReading['seen'] = null;
  return {
    async change(quotaChange) {
      const change = () => options.transaction((transaction) => changeRow(transaction, options, { quotaChange, seen }));
      const { result, atMs, ownMs } = await change().catch(async (error: unknown) => {
        if (codeOf(error) !== NO_TABLE) throw error;
        await options.transaction(prepare);
        return change();
      });
      seen = { atMs, ownMs };
      return result;
    },
    async close() {},
  };
}

/** PostgreSQL's code for a missing table. */
const NO_TABLE = '42P01';

/** Creates the table unless another process has; only then does the user need permission to create a schema. */
async function prepare(connection: PostgresConnection): Promise<void> {
  // A transaction lock, because two processes creating the same schema would fail.
  await connection.query("select pg_advisory_xact_lock(hashtextextended('obsync_accounts', 0))");
  const { rows } = await connection.query("select to_regclass('obsync_accounts.account_quotas')::text as name");
  if (rows[0]?.['name'] !== null) return;
  for (const statement of ACCOUNT_TABLES) await connection.query(statement);
}

const ACCOUNT_TABLES = [
  'create schema if not exists obsync_accounts',
  `create table if not exists obsync_accounts.account_quotas (
    account text collate "C" primary key, state text not null, at_ms double precision not null,
    offset_ms double precision not null, used_at timestamptz not null)`,
];

/** The outer statement reads the clock once the row is locked, which may take a while. */
const TAKE = `select taken.*, (extract(epoch from clock_timestamp()) * 1000)::double precision as clock_ms from (
  select state, at_ms, offset_ms from obsync_accounts.account_quotas where account = $1 for update) taken`;
const ADD = `insert into obsync_accounts.account_quotas (account, state, at_ms, offset_ms, used_at)
  values ($1, '', 0, 0, clock_timestamp()) on conflict (account) do nothing`;
const WRITE = `update obsync_accounts.account_quotas set state = $2, at_ms = $3, offset_ms = $4, used_at = clock_timestamp()
  where account = $1`;

/** Accounts unused for this long are deleted. */
const FORGET = `delete from obsync_accounts.account_quotas where used_at < clock_timestamp() - interval '7 days'`;

async function changeRow<Result>(
  transaction: PostgresTransaction,
  { account, nowMs }: QuotaRowOptions,
  { quotaChange, seen }: { quotaChange: QuotaChange<Result>; seen: AccountTimeReading['seen'] },
): Promise<{ readonly result: Result; readonly atMs: number; readonly ownMs: number }> {
  const { text, ...look } = await takeRow(transaction, account);
  const ownMs = nowMs();
  const { atMs, offsetMs } = accountTime({ ...look, ownMs, seen });
  const { state, result } = quotaChange(quotaOfText(text), atMs);
  transaction.send(WRITE, [account, textOfQuota(state), atMs, offsetMs]);
  return { result, atMs, ownMs };
}

/** Locks the row, which it adds if needed, and reads the time from which on it was locked. */
async function takeRow(transaction: PostgresTransaction, account: string) {
  let [row] = (await transaction.query(TAKE, [account])).rows;
  if (row === undefined) {
    transaction.send(FORGET);
    transaction.send(ADD, [account]);
    [row] = (await transaction.query(TAKE, [account])).rows;
  }
  const { state, at_ms, offset_ms, clock_ms } = row ?? {};
  return { text: String(state), writtenMs: Number(at_ms), offsetMs: Number(offset_ms), clockMs: Number(clock_ms) };
}
