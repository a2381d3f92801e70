import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { mirror } from '../schema/sync.ts';
import { after, type Instant } from '../src/core/instant.ts';

/**
 * The mirror's own time moves on to that of the transaction under way: the machine's, or the microsecond after its last value
 * where that is later. So no two transactions share one, and it never runs backwards, whatever the machine's clock does
 * (R21). To be called once, and in the transaction that it stamps.
 */
export function tick(db: Pick<BetterSQLite3Database, 'select' | 'update'>, clock: () => Instant): Instant {
  const last = db.select().from(mirror).get()?.mirrored_at ?? '';
  const now = clock();
  const mirroredAt = now > last ? now : after(last);
  db.update(mirror).set({ mirrored_at: mirroredAt }).run();
  return mirroredAt;
}
