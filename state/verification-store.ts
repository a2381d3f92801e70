import { sql } from 'drizzle-orm';
import { verifications } from '../schema/page.ts';
import { insertStatement, type StateStatements } from './state-statements.ts';

const KEPT = 100;

/** Records how a verification ended, and deletes the oldest ones. */
export function* saveVerification(verification: Omit<typeof verifications.$inferInsert, 'id'>): StateStatements<void> {
  yield insertStatement(verifications, verification);
  const { id } = verifications;
  yield sql`delete from ${verifications}
    where ${id} < (select v.id from ${verifications} v order by v.id desc limit 1 offset ${sql.raw(String(KEPT - 1))})`;
}
