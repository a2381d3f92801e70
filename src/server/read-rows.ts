import type { RowsOf } from '../metrics/measurements.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';

/** The operation that reads the measurements of the mirror. It has no endpoint. */
export const MEASURE = 'measure';

/** The rows of each statement, from one state of the mirror. */
export function readRows<Statements extends Readonly<Record<string, string>>>(
  view: MirrorSnapshot,
  statements: Statements,
): RowsOf<Statements> {
  const read = Object.entries(statements).map(([name, sql]) => [name, view.rows({ sql, values: {} })]);
  return Object.fromEntries(read) as RowsOf<Statements>;
}
