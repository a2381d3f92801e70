import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { uptime } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleepFor } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { QuotaChange, QuotaKeeper } from '../src/core/ports/quota-keeper.ts';
import { clockJumpMs, type MachineTime } from '../src/core/quota/clock-jump.ts';
import { shiftTimes, UNKNOWN_QUOTA } from '../src/core/quota/quota-state.ts';
import { quotaOfText, textOfQuota } from '../src/core/quota/quota-text.ts';
import { DAY_MS } from '../src/core/time/duration.ts';
import { isBusy } from './lock.ts';
import { userFolder } from './user-folder.ts';

/** The file in this user's state folder that stores the quota of every account. @throws without a home folder */
export function quotaFilePath(): string {
  return join(userFolder('state'), 'quota.db');
}

interface QuotaFileOptions {
  /** Returns the path of the file. */
  readonly path: () => string;
  readonly account: string;
  readonly now: () => MachineTime;
}

export function machineTime(): MachineTime {
  return { wallMs: Date.now(), uptimeMs: uptime() * 1000 };
}

/**
 * Stores the state of an account's quota in a file, for all processes of this machine (R23). It is an SQLite file: its
 * lock ends with its process, and a change is written completely or not at all. It is opened at the first change.
 */
export function fileKeeper(options: QuotaFileOptions): QuotaKeeper {
  let connection: Database.Database | null = null;
  const close = (): void => {
    connection?.close();
    connection = null;
  };
  return {
    async change(quotaChange) {
      for (let tries = 1; ; tries++) {
        try {
          connection ??= openFile(options);
          return changeRow(connection, options, quotaChange);
        } catch (error) {
          if (isBusy(error) && tries < MAX_TRIES) await sleepFor(BUSY_MS * Math.random());
          else {
            // Another process may have replaced the file: the next try opens the new one.
            close();
            if (!isDamaged(error) || tries > 2) throw error;
            // A damaged file, for example after a power failure, holds nothing of value.
            if (tries === 2) for (const suffix of ['', '-journal']) rmSync(options.path() + suffix, { force: true });
          }
        }
      }
    },
    async close() {
      close();
    },
  };
}

/** A change takes a fraction of a millisecond, so whoever holds the file for longer is suspended. */
const BUSY_MS = 100;
const MAX_TRIES = 100;

/** Accounts unused for this long are deleted. */
const FORGET_MS = 7 * DAY_MS;

function isDamaged(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

/** The file must survive a killed process, but not a power failure, after which its content is outdated. */
function openFile({ path, account, now }: QuotaFileOptions): Database.Database {
  const file = path();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  // Only its user may access a new file; anyone who wants to share it may change that.
  closeSync(openSync(file, 'a', 0o600));
  const connection = new Database(file, { timeout: BUSY_MS });
  try {
    connection.pragma('synchronous = off');
    connection.exec(TABLE);
    const { wallMs } = now();
    connection.prepare(FORGET).run({ account, from: wallMs - FORGET_MS, to: wallMs + FORGET_MS });
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

const TABLE = `create table if not exists account_quotas (
  account text primary key, state text not null, wall_ms real not null, uptime_ms real not null) strict`;
const FORGET = 'delete from account_quotas where account <> :account and wall_ms not between :from and :to';
const READ = 'select state, wall_ms, uptime_ms from account_quotas where account = ?';
const WRITE = `insert or replace into account_quotas (account, state, wall_ms, uptime_ms)
  values (:account, :state, :wallMs, :uptimeMs)`;

function changeRow<Result>(
  connection: Database.Database,
  { account, now }: QuotaFileOptions,
  change: QuotaChange<Result>,
): Result {
  const exchange = connection.transaction(() => {
    const row = connection.prepare<[string], { state: string; wall_ms: number; uptime_ms: number }>(READ).get(account);
    const time = now();
    const before = row === undefined ? UNKNOWN_QUOTA : quotaOfText(row.state);
    const jumpMs = row === undefined ? 0 : clockJumpMs({ wallMs: row.wall_ms, uptimeMs: row.uptime_ms }, time);
    const { state, result } = change(jumpMs === 0 ? before : shiftTimes(before, jumpMs), time.wallMs);
    connection.prepare(WRITE).run({ account, state: textOfQuota(state), ...time });
    return result;
  });
  return exchange.immediate();
}
