import type { Database } from 'better-sqlite3';
import type { CellRow } from './cell.ts';
import type { ExportRelation } from './relation.ts';
import {
  type ChangeFingerprint,
  type ExportSegment,
  fingerprintFor,
  newPartition,
  type SegmentReader,
  type SurveyedSegment,
  segmentsOf,
} from './segment.ts';
import { quotedNames, quoteName } from './sql-names.ts';

/**
 * SQLite computes a whole view for any range of it, so one pass serves all segments. They are ranges of its first own
 * column.
 */
export function viewReader(connection: Database, relation: ExportRelation, envId: string): SegmentReader {
  const { name, columns, order, envColumn } = relation;
  const at = columns.findIndex((column) => column.name === order[0]);
  const cutValue = (row: CellRow): string => String(row[at] ?? '');
  const read = (selection: string, end = ''): Iterable<CellRow> =>
    connection
      .prepare(`select ${selection} from ${quoteName(name)} where ${quoteName(envColumn)} = ?${end}`)
      .raw()
      .iterate(envId) as Iterable<CellRow>;
  const all = quotedNames(columns.map((column) => column.name));
  let segmentOf: (value: string) => ExportSegment = () => newPartition(envId, null);
  return {
    survey(files) {
      const segments = files.length === 0 ? [newPartition(envId, null)] : segmentsOf(files);
      segmentOf = segmentFinder(segments);
      const fingerprints = new Map<ExportSegment, ChangeFingerprint>();
      for (const row of read(all)) {
        const segment = segmentOf(cutValue(row));
        const fingerprint = fingerprints.get(segment) ?? fingerprintFor(segment);
        fingerprints.set(segment, fingerprint);
        fingerprint.add(row);
      }
      return segments.flatMap((segment) => {
        const found = fingerprints.get(segment);
        return found === undefined ? [] : [{ segment, rows: found.rows, changes: found.text() }];
      });
    },
    *rows(segments) {
      const wanted = new Map<ExportSegment, SurveyedSegment>(segments.map((each) => [each.segment, each]));
      for (const row of read(all, ` order by ${quotedNames(order)}`)) {
        const surveyed = wanted.get(segmentOf(cutValue(row)));
        if (surveyed !== undefined) yield [surveyed, row];
      }
    },
    cutValue,
  };
}

/** Finds the segment of a value: the last one that starts at or before it, in SQLite's order, which compares bytes. */
function segmentFinder(segments: readonly ExportSegment[]): (value: string) => ExportSegment {
  const bounds = segments.map(({ from }) => Buffer.from(from ?? ''));
  let last = { value: '', segment: segments[0] as ExportSegment };
  return (value) => {
    if (value === last.value) return last.segment;
    const bytes = Buffer.from(value);
    let [low, high] = [0, segments.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (Buffer.compare(bounds[middle] as Buffer, bytes) <= 0) low = middle;
      else high = middle - 1;
    }
    last = { value, segment: segments[low] as ExportSegment };
    return last.segment;
  };
}
