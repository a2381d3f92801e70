import { listLengths as table } from '../schema/sync.ts';
import type { MeasuredList } from '../src/core/ports/state-store.ts';
import { type StateStatements, upsertInto } from './state-statements.ts';

/** Saves the lengths of lists that a run has read completely (see the table). */
export function* saveListLengths(lengths: readonly MeasuredList[]): StateStatements<void> {
  for (const length of lengths) yield upsertInto(table, length, [table.env_id, table.stream, table.variant]);
}
