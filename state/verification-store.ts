import { desc, lt, sql } from 'drizzle-orm';
import { verifications } from '../schema/page.ts';
import { first, insertStatement, queryBuilder, type StateStatements } from './state-statements.ts';

/** How many verifications are kept. */
const KEPT = 100;

/** Records how a verification ended, and deletes the oldest ones. */
export function* saveVerification(verification: Omit<typeof verifications.$inferInsert, 'id'>): StateStatements<void> {
  yield insertStatement(verifications, verification);
  const { id } = verifications;
  const oldest = yield* first(
    queryBuilder
      .select({ id })
      .from(verifications)
      .orderBy(desc(id))
      .limit(1)
      .offset(KEPT - 1),
  );
  if (oldest !== undefined) yield sql`delete from ${verifications} where ${lt(id, oldest.id)}`;
}
