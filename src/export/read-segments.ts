import type { Database } from 'better-sqlite3';
import type { CellRow } from './cell.ts';
import type { ExportedFile } from './manifest.ts';
import { viewReader } from './read-view.ts';
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

export function readerOf(connection: Database, relation: ExportRelation, envId: string): SegmentReader {
  if (relation.kind === 'view') return viewReader(connection, relation, envId);
  return relation.timeColumn === null
    ? listReader(connection, relation, envId)
    : historyReader(connection, relation, relation.timeColumn, envId);
}

/** Without a time, segments are key ranges, which an index finds. */
function listReader(connection: Database, relation: ExportRelation, envId: string): SegmentReader {
  const { name, columns, order, envColumn, changeColumns } = relation;
  const first = order[0] ?? envColumn;
  const range = ({ from, to }: ExportSegment) => {
    const bounds = [...(from === null ? [] : [['>=', from]]), ...(to === null ? [] : [['<', to]])];
    return {
      where: [`${quoteName(envColumn)} = ?`, ...bounds.map(([sign]) => `${quoteName(first)} ${sign} ?`)].join(' and '),
      values: [envId, ...bounds.map(([, bound]) => bound)],
    };
  };
  const select = (names: readonly string[], segment: ExportSegment, end: string): Iterable<CellRow> => {
    const { where, values } = range(segment);
    const statement = connection.prepare(`select ${quotedNames(names)} from ${quoteName(name)} where ${where}${end}`);
    return statement.raw().iterate(...values) as Iterable<CellRow>;
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
      for (const each of segments) for (const row of select(names, each.segment, inOrder)) yield [each, row];
    },
    cutValue: (row) => String(row[at]),
  };
}

function surveyed(segment: ExportSegment, rows: Iterable<CellRow>): SurveyedSegment {
  const fingerprint = fingerprintFor(segment);
  for (const row of rows) fingerprint.add(row);
  return { segment, rows: fingerprint.rows, changes: fingerprint.text() };
}

/**
 * A history has a partition per month, and its segments are ranges of days. There is no index by day, so one pass over
 * the environment's rows serves all segments.
 */
function historyReader(
  connection: Database,
  { name, columns, order, changeColumns }: ExportRelation,
  timeColumn: string,
  envId: string,
): SegmentReader {
  const names = columns.map((column) => column.name);
  const at = names.indexOf(timeColumn);
  const day = `substr(${quoteName(timeColumn)}, 1, 10)`;
  const owners = new Map<string, SurveyedSegment>();
  return {
    survey(files) {
      const fingerprints = new Map<ExportSegment, ChangeFingerprint>();
      const segmentOf = daySegments(files, envId);
      const days = new Map<string, ExportSegment>();
      const statement = connection.prepare(
        `select ${day}, ${quotedNames(changeColumns)} from ${quoteName(name)} where env_id = ?`,
      );
      for (const [today, ...values] of statement.raw().iterate(envId) as Iterable<[string, ...CellRow]>) {
        const segment = days.get(today) ?? segmentOf(today);
        days.set(today, segment);
        const fingerprint = fingerprints.get(segment) ?? fingerprintFor(segment);
        fingerprints.set(segment, fingerprint);
        fingerprint.add(values);
      }
      const found = new Map(
        [...fingerprints].map(([segment, each]) => [segment, { segment, rows: each.rows, changes: each.text() }]),
      );
      for (const [today, segment] of days) owners.set(today, found.get(segment) as SurveyedSegment);
      return [...found.values()];
    },
    *rows(segments) {
      const days = [...owners].filter(([, owner]) => segments.includes(owner)).map(([today]) => today);
      // Sorts only days, keys and row numbers, and looks the rows up afterwards. The limit preserves the inner query's
      // order.
      const statement = connection.prepare(`select ${names.map((column) => `t.${quoteName(column)}`).join(', ')}
        from (select rowid as number from ${quoteName(name)}
          where env_id = ? and ${day} in (select value from json_each(?)) order by ${day}, ${quotedNames(order)} limit -1) s
        cross join ${quoteName(name)} t on t.rowid = s.number`);
      for (const row of statement.raw().iterate(envId, JSON.stringify(days)) as Iterable<CellRow>)
        yield [owners.get(dayOf(row[at])) as SurveyedSegment, row];
    },
    cutValue: (row) => dayOf(row[at]),
  };
}

const dayOf = (instant: unknown): string => String(instant).slice(0, 10);

/** Finds the segment of a day: one of the files', or else a partition of its month. */
function daySegments(files: readonly ExportedFile[], envId: string): (day: string) => ExportSegment {
  const months = new Map(
    [...Map.groupBy(files, ({ month }) => month ?? '')].map(([month, each]) => [month, segmentsOf(each)]),
  );
  return (day) => {
    const month = day.slice(0, 7);
    const segments = months.get(month) ?? [newPartition(envId, month)];
    months.set(month, segments);
    return segments.findLast(({ from }) => from === null || from <= day) as ExportSegment;
  };
}
