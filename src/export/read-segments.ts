import type { Database } from 'better-sqlite3';
import type { CellRow } from './cell.ts';
import { historyReader } from './read-history.ts';
import { type ExportRelation, quotedNames, quoteName } from './relation.ts';
import {
  createFingerprint,
  type ExportSegment,
  newPartition,
  type SegmentReader,
  type SurveyedSegment,
  segmentsOf,
} from './segment.ts';

export function readerOf(connection: Database, relation: ExportRelation, envId: string): SegmentReader {
  return relation.timeColumn === null
    ? listReader(connection, relation, envId)
    : historyReader(connection, relation, relation.timeColumn, envId);
}

/**
 * Without a time, segments are key ranges, which an index finds. SQLite computes a whole view for any range of it, so a
 * view has one file.
 */
function listReader(connection: Database, relation: ExportRelation, envId: string): SegmentReader {
  const { name, kind, columns, order, envColumn, changeColumns } = relation;
  const first = order[0] ?? envColumn;
  const select = (names: readonly string[], { from, to }: ExportSegment, end: string): Iterable<CellRow> => {
    const bounds = [...(from === null ? [] : [['>=', from]]), ...(to === null ? [] : [['<', to]])];
    const where = [`${quoteName(envColumn)} = ?`, ...bounds.map(([sign]) => `${quoteName(first)} ${sign} ?`)];
    const statement = connection.prepare(
      `select ${quotedNames(names)} from ${quoteName(name)} where ${where.join(' and ')}${end}`,
    );
    return statement.raw().iterate(envId, ...bounds.map(([, bound]) => bound)) as Iterable<CellRow>;
  };
  const names = columns.map((column) => column.name);
  const at = names.indexOf(first);
  const inOrder = ` order by ${quotedNames([envColumn, ...order.filter((column) => column !== envColumn)])}`;
  return {
    survey: (files) =>
      (files.length === 0 ? [newPartition(envId, null)] : segmentsOf(files))
        .map((segment) => surveyed(segment, select(segment.file === null ? [first] : changeColumns, segment, '')))
        .filter(({ rows }) => rows > 0),
    *rows(segments) {
      for (const each of segments) for (const row of select(names, each, inOrder)) yield [each, row];
    },
    cutValue: kind === 'view' ? () => null : (row) => String(row[at]),
  };
}

function surveyed(segment: ExportSegment, rows: Iterable<CellRow>): SurveyedSegment {
  const fingerprint = createFingerprint(segment.file !== null);
  for (const row of rows) fingerprint.add(row);
  return { ...segment, rows: fingerprint.rows, changes: fingerprint.text() };
}
