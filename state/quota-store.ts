import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { mirror } from '../schema/sync.ts';
import type { Instant } from '../src/core/instant.ts';
import type { AccountQuota, KeptQuota } from '../src/core/quota.ts';

/** What is known of the account's quota from earlier runs; null if nothing is. */
export function loadQuota(db: BetterSQLite3Database): Pick<AccountQuota, 'limit' | 'windowSeconds'> | null {
  const held = db.select({ limit: mirror.quota_limit, windowSeconds: mirror.quota_window_seconds }).from(mirror).get();
  return held === undefined || held.limit === null ? null : { ...held, windowSeconds: held.windowSeconds ?? 0 };
}

/**
 * What the last run left of the quota (R23); null if it is unknown. It belongs to this service, because a mirror of another one
 * is refused before (R26).
 */
export function loadKeptQuota(db: BetterSQLite3Database): KeptQuota | null {
  const held = db.select().from(mirror).get();
  const { quota_remaining: remaining, quota_reset_seconds: resetSeconds, quota_noted_at: notedAt } = held ?? {};
  return remaining == null || resetSeconds == null || notedAt == null ? null : { remaining, resetSeconds, notedAt };
}

/** Saves the quota that a run was told. */
export function saveQuota(db: BetterSQLite3Database, accountQuota: AccountQuota, notedAt: Instant): void {
  const { limit, windowSeconds, remaining, resetSeconds } = accountQuota;
  db.update(mirror)
    .set({
      quota_limit: limit,
      quota_window_seconds: windowSeconds,
      quota_remaining: remaining,
      quota_reset_seconds: resetSeconds,
      quota_noted_at: notedAt,
    })
    .run();
}
