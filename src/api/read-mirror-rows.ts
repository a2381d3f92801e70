import type { StateStatements } from '../../state/state-statements.ts';
import type { Row } from '../core/stream.ts';
import { noRows } from '../metrics/cache-measurements.ts';
import type { RowsOf } from '../metrics/measurements.ts';
import { openStore } from './open-store.ts';

/** The rows of each statement, from one state of the mirror at an address; no rows if there is no mirror. */
export async function readMirrorRows<Statements extends Readonly<Record<string, string>>>(
  db: string,
  statements: Statements,
): Promise<RowsOf<Statements>> {
  const store = await openStore(db);
  // A file without tables is one that is being created.
  const { found } = await store.version();
  if (found === 0) return noRows(statements);
  return store.read(function* (): StateStatements<RowsOf<Statements>> {
    const rows: [string, readonly Row[]][] = [];
    for (const [name, sql] of Object.entries(statements)) rows.push([name, (yield { sql, values: {} }).rows]);
    return Object.fromEntries(rows) as RowsOf<Statements>;
  });
}
