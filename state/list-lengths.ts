import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import { listLengths as table } from '../schema/sync.ts';
import type { MeasuredList } from '../src/core/state-store.ts';

/** Saves the lengths of lists that a run has read completely (see the table), in one transaction. */
export function saveListLengths(db: BetterSQLite3Database, lengths: readonly MeasuredList[]): void {
  const target = [table.env_id, table.stream, table.variant];
  db.transaction((tx) => {
    for (const length of lengths) tx.insert(table).values(length).onConflictDoUpdate({ target, set: length }).run();
  });
}
