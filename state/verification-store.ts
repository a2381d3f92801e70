import { desc, lt } from 'drizzle-orm';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { verifications } from '../schema/page.ts';

/** How many verifications are kept. */
const KEPT = 100;

/** Records how a verification ended, and forgets the oldest. */
export function saveVerification(
  db: BetterSQLite3Database,
  verification: Omit<typeof verifications.$inferInsert, 'id'>,
): void {
  db.transaction((tx) => {
    tx.insert(verifications).values(verification).run();
    const oldest = tx
      .select({ id: verifications.id })
      .from(verifications)
      .orderBy(desc(verifications.id))
      .limit(1)
      .offset(KEPT - 1)
      .get();
    if (oldest !== undefined) tx.delete(verifications).where(lt(verifications.id, oldest.id)).run();
  });
}
