import { mirror } from '../schema/sync.ts';
import type { AccountQuota, KeptQuota } from '../src/core/quota/quota.ts';
import type { Instant } from '../src/core/time/instant.ts';
import { first, queryBuilder, type StateStatements, update } from './state-statements.ts';

export function* loadQuota(): StateStatements<Pick<AccountQuota, 'limit' | 'windowSeconds'> | null> {
  const held = yield* first(queryBuilder.select().from(mirror));
  if (held === undefined || held.quota_limit === null) return null;
  return { limit: held.quota_limit, windowSeconds: held.quota_window_seconds ?? 0 };
}

/**
 * What the last run left of the quota (R23); null if unknown. It belongs to this service, because a mirror of another
 * one is refused earlier (R26).
 */
export function* loadKeptQuota(): StateStatements<KeptQuota | null> {
  const held = yield* first(queryBuilder.select().from(mirror));
  const { quota_remaining: remaining, quota_reset_seconds: resetSeconds, quota_noted_at: notedAt } = held ?? {};
  return remaining == null || resetSeconds == null || notedAt == null ? null : { remaining, resetSeconds, notedAt };
}

export function* saveQuota(quota: AccountQuota, notedAt: Instant): StateStatements<void> {
  const { limit, windowSeconds, remaining, resetSeconds } = quota;
  yield update(mirror, {
    quota_limit: limit,
    quota_window_seconds: windowSeconds,
    quota_remaining: remaining,
    quota_reset_seconds: resetSeconds,
    quota_noted_at: notedAt,
  });
}
