import type { QuotaChange, QuotaKeeper } from '../../core/ports/quota-keeper.ts';
import { type AccountTimeReading, accountTime, TOLERANCE_MS } from '../../core/quota/account-time.ts';
import { quotaOfText, textOfQuota } from '../../core/quota/quota-text.ts';
import { codeOf } from './server-error.ts';
import type { PostgresConnection, PostgresDatabase, PostgresTransaction, TransactionWork } from './transaction.ts';

/** How long a transaction may hold the row of a quota without a statement. */
export const QUOTA_IDLE_MS = 10_000;

export interface QuotaRowOptions {
  /**
   * Does the work in one transaction, and may repeat it: a change applied twice has the effect of one. The server must
   * end a transaction after `QUOTA_IDLE_MS` without a statement, so a stopped process does not keep the row from
   * others.
   */
  readonly transaction: <Done>(work: TransactionWork<Done>) => Promise<Done>;
  /** Does work outside of a transaction, and may repeat it too. */
  readonly session: PostgresDatabase['session'];
  readonly account: string;
  /** A monotonic clock of this process. */
  readonly nowMs: () => number;
}

/** How a process reaches the row, and what it knows of it. */
interface KnownQuota extends QuotaRowOptions {
  /** What the row held when this process last left it; null before. */
  row: { readonly text: string; readonly atMs: number; readonly offsetMs: number } | null;
  /** Whether no other process seems to have changed it since. */
  isAlone: boolean;
  seen: AccountTimeReading['seen'];
  /** How far the server's clock is ahead of this process's clock, at most, and when this was measured. */
  lead: { readonly aheadMs: number; readonly ownMs: number } | null;
}

/**
 * Stores the state of an account's quota in a row, for all processes that reach the database (R23). Mirrors of one
 * account may have schemas of their own, so the row is in none of them. Its clock is the server's.
 *
 * A process that finds the row as it left it changes it with one statement from then on, which checks that this is
 * still so. Otherwise it locks the row, which takes a transaction.
 */
export function rowKeeper(options: QuotaRowOptions): QuotaKeeper {
  const known: KnownQuota = { ...options, row: null, isAlone: false, seen: null, lead: null };
  return {
    async change(quotaChange) {
      const changeLocked = () => options.transaction((inside) => changeRow(inside, known, quotaChange));
      try {
        const changed = known.isAlone
          ? await options.session((connection) => changeKnown(connection, known, quotaChange))
          : null;
        return changed === null ? await changeLocked() : changed.result;
      } catch (error) {
        if (codeOf(error) !== NO_TABLE) throw error;
        known.isAlone = false;
        await options.transaction(prepare);
        return changeLocked();
      }
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

const CLOCK_MS = '(extract(epoch from clock_timestamp()) * 1000)::double precision';

/** The outer statement reads the clock once the row is locked, which may take a while. */
const TAKE = `select taken.*, ${CLOCK_MS} as clock_ms from (
  select state, at_ms, offset_ms from obsync_accounts.account_quotas where account = $1 for update) taken`;
const ADD = `insert into obsync_accounts.account_quotas (account, state, at_ms, offset_ms, used_at)
  values ($1, '', 0, 0, clock_timestamp()) on conflict (account) do nothing`;
const WRITE = `update obsync_accounts.account_quotas set state = $2, at_ms = $3, offset_ms = $4, used_at = clock_timestamp()
  where account = $1`;

/** Changes the row if it is as it was left, and if the time by which the change was made is not ahead of the clock. */
const WRITE_KNOWN = `with written as (
    update obsync_accounts.account_quotas set state = $2, at_ms = $3, used_at = clock_timestamp()
    where account = $1 and state = $4 and at_ms = $5 and offset_ms = $6
      and ${CLOCK_MS} - $6::double precision - $3::double precision between 0 and ${TOLERANCE_MS}
    returning account)
  select ${CLOCK_MS} as clock_ms, (select count(*) from written) as written`;

/** Accounts unused for this long are deleted. */
const FORGET = `delete from obsync_accounts.account_quotas where used_at < clock_timestamp() - interval '7 days'`;

/** How long a measured lead is used: the clocks may drift apart. */
const LEAD_MS = 10_000;

/** Notes a reading of the server's clock that was requested at `ownMs`. The fastest one says most. */
function noteClock(known: KnownQuota, clockMs: number, ownMs: number): void {
  const aheadMs = clockMs - ownMs;
  const { lead } = known;
  const isSet = lead !== null && aheadMs - lead.aheadMs > TOLERANCE_MS;
  if (lead === null || isSet || aheadMs < lead.aheadMs || ownMs - lead.ownMs > LEAD_MS) known.lead = { aheadMs, ownMs };
}

/** @returns null if nothing was changed, because another process has changed the row or a clock was set */
async function changeKnown<Result>(
  connection: PostgresConnection,
  known: KnownQuota,
  quotaChange: QuotaChange<Result>,
): Promise<{ readonly result: Result } | null> {
  const { account, nowMs, row, isAlone, lead } = known;
  if (row === null || lead === null || !isAlone) return null;
  const ownMs = nowMs();
  // No earlier than the time of sending; the statement changes nothing if it is later than the server's clock.
  const atMs = Math.max(row.atMs, ownMs + lead.aheadMs - row.offsetMs);
  const { state, result } = quotaChange(quotaOfText(row.text), atMs);
  const text = textOfQuota(state);
  const { rows } = await connection.query(WRITE_KNOWN, [account, text, atMs, row.text, row.atMs, row.offsetMs]);
  const clockMs = Number(rows[0]?.['clock_ms']);
  noteClock(known, clockMs, ownMs);
  known.isAlone = rows[0]?.['written'] === 1;
  if (!known.isAlone) return null;
  known.row = { ...row, text, atMs };
  known.seen = { atMs: clockMs - row.offsetMs, ownMs: nowMs() };
  return { result };
}

async function changeRow<Result>(
  transaction: PostgresTransaction,
  known: KnownQuota,
  quotaChange: QuotaChange<Result>,
): Promise<Result> {
  const { account, nowMs } = known;
  const sentMs = nowMs();
  const { text, ...look } = await takeRow(transaction, account);
  const ownMs = nowMs();
  const { atMs, offsetMs } = accountTime({ ...look, ownMs, seen: known.seen });
  const { state, result } = quotaChange(quotaOfText(text), atMs);
  const row = { text: textOfQuota(state), atMs, offsetMs };
  transaction.send(WRITE, [account, row.text, atMs, offsetMs]);
  known.isAlone = known.row === null || (known.row.text === text && known.row.atMs === look.writtenMs);
  known.seen = { atMs, ownMs };
  noteClock(known, look.clockMs, sentMs);
  known.row = row;
  return result;
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
