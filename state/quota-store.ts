import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { mirror } from '../schema/sync.ts';
import type { Quota } from '../src/core/quota.ts';

/** What earlier runs were told of the account's quota; null where none was. */
export function loadQuota(db: BetterSQLite3Database): Pick<Quota, 'limit' | 'windowSeconds'> | null {
  const held = db.select({ limit: mirror.quota_limit, windowSeconds: mirror.quota_window_seconds }).from(mirror).get();
  return held === undefined || held.limit === null ? null : { ...held, windowSeconds: held.windowSeconds ?? 0 };
}

/** Keeps what a run was told. */
export function saveQuota(db: BetterSQLite3Database, { limit, windowSeconds }: Quota): void {
  db.update(mirror).set({ quota_limit: limit, quota_window_seconds: windowSeconds }).run();
}
