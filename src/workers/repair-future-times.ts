import { LIST_EVERY_SECONDS } from '../core/schedule/schedule.ts';
import type { WorkDatabase } from './database.ts';

/**
 * Repairs times that lie in the future because the clock of the server ran ahead and was set back. Starts in the
 * future count as now (as `believable` of the schedule), and the environments are due to be listed, which finds when
 * each is due.
 */
export async function repairFutureTimes({ query }: WorkDatabase): Promise<void> {
  for (const statement of STATEMENTS) await query(statement);
}

/**
 * No sync begins in the future. None waits for much longer than until it is due, and no listing for much longer than
 * from one to the next.
 */
const STATEMENTS = [
  `update obsync_accounts.account_environments set last_started_at = now(), ended_at = least(ended_at, now()),
      synced_at = case when synced_at > now() then now() else synced_at end
    where last_started_at > now() + interval '1 minute'`,
  "update obsync_accounts.account_environments set retry_at = null where retry_at > now() + interval '1 hour'",
  `update obsync_accounts.accounts set listing_due_at = now()
    where listing_due_at > now() + interval '${LIST_EVERY_SECONDS} seconds' + interval '1 hour'`,
  "update obsync_accounts.workers set seen_at = now() where seen_at > now() + interval '1 minute'",
];
