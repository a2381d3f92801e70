import type { Database } from 'better-sqlite3';
import type { CellRow } from './cell.ts';
import type { ExportRelation } from './relation.ts';
import { fingerprintFor, newPartition, type SegmentReader } from './segment.ts';
import { quotedNames, quoteName } from './sql-names.ts';

/** SQLite computes a whole view for any range of it, so a view has one file. */
export function viewReader(connection: Database, relation: ExportRelation, envId: string): SegmentReader {
  const { name, columns, order, envColumn } = relation;
  const all = quotedNames(columns.map((column) => column.name));
  const read = (end = ''): Iterable<CellRow> =>
    connection
      .prepare(`select ${all} from ${quoteName(name)} where ${quoteName(envColumn)} = ?${end}`)
      .raw()
      .iterate(envId) as Iterable<CellRow>;
  return {
    survey([file]) {
      const segment = { ...newPartition(envId, null), file: file ?? null };
      const fingerprint = fingerprintFor(segment);
      for (const row of read()) fingerprint.add(row);
      return fingerprint.rows === 0 ? [] : [{ segment, rows: fingerprint.rows, changes: fingerprint.text() }];
    },
    *rows([surveyed]) {
      if (surveyed !== undefined) for (const row of read(` order by ${quotedNames(order)}`)) yield [surveyed, row];
    },
    cutValue: () => null,
  };
}
