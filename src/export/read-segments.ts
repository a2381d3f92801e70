import type { Database } from 'better-sqlite3';
import type { CellRow } from './cell.ts';
import type { ExportedFile } from './manifest.ts';
import { type ExportRelation, quotedNames, quoteName } from './relation.ts';
import {
  createFingerprint,
  type ExportSegment,
  inPlace,
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

/**
 * A history has a partition per month, and its segments are ranges of `mirrored_at`. So rows that were added since the
 * last export are a segment of their own, whose file changes no other. There is no index by month: one pass over the
 * environment's rows serves all segments.
 */
function historyReader(
  connection: Database,
  { name, columns, order, changeColumns }: ExportRelation,
  timeColumn: string,
  envId: string,
): SegmentReader {
  const names = columns.map((column) => column.name);
  const at = names.indexOf('mirrored_at');
  const month = `substr(${quoteName(timeColumn)}, 1, 7)`;
  return {
    survey(files) {
      const finder = segmentFinder(files, envId);
      const fingerprints = new Map<ExportSegment, ReturnType<typeof createFingerprint>>();
      const statement = connection.prepare(
        `select ${month}, ${quotedNames(changeColumns)} from ${quoteName(name)} where env_id = ?`,
      );
      for (const [ofMonth, ...values] of statement.raw().iterate(envId) as Iterable<[string, ...CellRow]>) {
        const segment = finder.segmentOf(ofMonth, String(values.at(-1)));
        const fingerprint = fingerprints.get(segment) ?? createFingerprint(segment.file !== null);
        fingerprints.set(segment, fingerprint);
        fingerprint.add(values);
      }
      return [...fingerprints]
        .map(([segment, each]) => ({ ...finder.bounded(segment), rows: each.rows, changes: each.text() }))
        .sort(inPlace);
    },
    *rows(surveyed) {
      // Sorts only keys and row numbers, and looks the rows up afterwards. The limit preserves the inner query's order.
      const statement =
        connection.prepare(`select o.segment, ${names.map((column) => `t.${quoteName(column)}`).join(', ')}
        from (with s as materialized (select key as segment, value ->> 0 as month, value ->> 1 as low, value ->> 2 as high
            from json_each(?))
          select s.segment, t.rowid as number from ${quoteName(name)} t cross join s on s.month = ${month}
            and t.mirrored_at >= s.low and (s.high is null or t.mirrored_at < s.high)
          where t.env_id = ? order by s.segment, t.mirrored_at, ${quotedNames(order)} limit -1) o
        cross join ${quoteName(name)} t on t.rowid = o.number`);
      const ranges = surveyed.map(({ month, from, to }) => [month, from ?? '', to]);
      for (const [i, ...row] of statement.raw().iterate(JSON.stringify(ranges), envId) as Iterable<
        [number, ...CellRow]
      >)
        yield [surveyed[i] as SurveyedSegment, row];
    },
    cutValue: (row) => String(row[at]),
  };
}

/** Finds the segment of a row: the one of a file, or a new one for rows that changed after all those in files (R21). */
function segmentFinder(files: readonly ExportedFile[], envId: string) {
  const months = new Map(
    [...Map.groupBy(files, ({ month }) => month ?? '')].map(([month, each]) => [month, segmentsOf(each)]),
  );
  const added = new Map<string, { readonly segment: ExportSegment; from: string }>();
  return {
    segmentOf(month: string, mirroredAt: string): ExportSegment {
      const segments = months.get(month) ?? [newPartition(envId, month)];
      months.set(month, segments);
      const newest = segments.at(-1)?.file?.bounds['mirrored_at']?.[1];
      const isAdded = newest !== undefined && mirroredAt > newest;
      if (!isAdded) return segments.findLast(({ from }) => from === null || from <= mirroredAt) as ExportSegment;
      const known = added.get(month) ?? { segment: newPartition(envId, month), from: mirroredAt };
      if (mirroredAt < known.from) known.from = mirroredAt;
      added.set(month, known);
      return known.segment;
    },
    /** The segment with its bounds, which are known after the last row. */
    bounded(segment: ExportSegment): ExportSegment {
      const [month, segments] = [segment.month ?? '', months.get(segment.month ?? '') ?? []];
      const known = added.get(month);
      if (known?.segment === segment) return { ...segment, from: known.from };
      return segment === segments.at(-1) ? { ...segment, to: known?.from ?? null } : segment;
    },
  };
}
