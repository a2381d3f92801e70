import { LIST_EVERY_SECONDS } from '../core/schedule/schedule.ts';
import type { WorkDatabase } from './database.ts';

/**
 * Repairs times in the future, left by a server clock that ran ahead and was set back. A start in the future counts as
 * now (like `capAtNow` of the schedule), and a listing of the environments becomes due, which finds when each sync is
 * due.
 */
export async function repairFutureTimes({ query }: WorkDatabase): Promise<void> {
  for (const statement of STATEMENTS) await query(statement);
}

/** No sync starts in the future. None waits long beyond its due time, and no listing long beyond the usual interval. */
const STATEMENTS = [
  `update obsync_accounts.account_environments set last_started_at = now(), ended_at = least(ended_at, now()),
      synced_at = case when synced_at > now() then now() else synced_at end
    where last_started_at > now() + interval '1 minute'`,
  "update obsync_accounts.account_environments set retry_at = null where retry_at > now() + interval '1 hour'",
  `update obsync_accounts.accounts set listing_due_at = now()
    where listing_due_at > now() + interval '${LIST_EVERY_SECONDS} seconds' + interval '1 hour'`,
  "update obsync_accounts.workers set seen_at = now() where seen_at > now() + interval '1 minute'",
];
