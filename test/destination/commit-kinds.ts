import type { Database } from 'better-sqlite3';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import type { DecodedRow } from '../../src/core/decode/decode.ts';
import type { Destination, RoundEnd } from '../../src/core/ports/destination.ts';
import type { Field, Row, Stream } from '../../src/core/stream.ts';
import { list, quote, tableSqlOf } from '../../src/destination/sql/tables.ts';
import { CATALOGUE, STREAM_NAMES } from '../../src/streams/catalogue.ts';
import { type CommitParts, commitOf, PLAIN_ROUND_END } from '../support/commit-parts.ts';
import { START } from '../support/conformance/workbench.ts';

/** The parts of commits, and the streams whose commits contain them. */
export interface CommitKind {
  readonly title: string;
  readonly isOf: (stream: Stream) => boolean;
  readonly act: (destination: Destination, stream: Stream) => Promise<unknown>;
}

const END: RoundEnd = { ...PLAIN_ROUND_END, lastMark: 1, run: 2 };
const SWEEP = { ...END, sweep: { at: START } };
const ALL = { ...END, replace: 'all' } as const;
const MARKED = { ...END, replace: 'marked', isWhole: false, through: 'x' } as const;

const isFeed = ({ method }: Stream) => method === 'feed';
const isMarked = ({ method }: Stream) => method === 'marked';
const isWindow = ({ method }: Stream) => method === 'window';
const isStaged = ({ staged }: Stream) => staged !== undefined;
const isMarkedEdges = (stream: Stream) => isMarked(stream) && isStaged(stream);
const isFilled = ({ subtype }: Stream) => subtype !== undefined;
const hasParent = ({ parent }: Stream) => parent !== undefined;
const isHeld = (stream: Stream) => !isWindow(stream) && !isFilled(stream);

export const of =
  (partsOf: (stream: Stream) => CommitParts): CommitKind['act'] =>
  (destination, stream) =>
    destination.commit(stream, commitOf(NO_PROGRESS, partsOf(stream)), new Set(STREAM_NAMES));

export const COMMIT_KINDS: readonly CommitKind[] = [
  {
    title: 'rows that a page shows new or changed',
    isOf: (stream) => !isStaged(stream) && !isWindow(stream),
    act: of((stream) => ({ changes: [{ kind: 'updated', row: rowOf(stream) }] })),
  },
  {
    title: 'rows that a page shows deleted',
    isOf: isFeed,
    act: of((stream) => ({ changes: [{ kind: 'deleted', row: rowOf(stream) }] })),
  },
  {
    title: 'rows that wait beside their table',
    isOf: isStaged,
    act: of((stream) => ({ staged: { rows: [decodedOf(stream)], readNumber: 1 } })),
  },
  {
    title: 'rows that are kept for ever',
    isOf: (stream) => isWindow(stream) || stream.historyTables !== undefined,
    act: of((stream) => ({ archived: [decodedOf(stream)] })),
  },
  {
    title: 'keys that a read has shown',
    isOf: (stream) => !isWindow(stream),
    act: of((stream) => ({ seen: { keys: [stream.key.map(() => 'x')], readNumber: 1 } })),
  },
  {
    title: 'rows that are back: rejected no more, held back no more',
    isOf: () => true,
    act: of((stream) => ({ returnedKeys: [stream.key.map(() => 'x')] })),
  },
  {
    title: 'rows that no table can take',
    isOf: () => true,
    act: of(() => ({ rejected: [{ key: null, rowKey: 'x', reason: 'r', payload: '{}' }] })),
  },
  {
    title: 'rejected rows that were asked for and not shown',
    isOf: (stream) => !isWindow(stream),
    act: of(() => ({ notShown: { ids: ['x'], since: 2 } })),
  },
  {
    title: 'new marks',
    isOf: ({ marks }) => marks.length > 0,
    act: of((stream) => ({ marks: stream.marks.slice(0, 1).map((rule) => ({ stream: rule.stream, id: 'x' })) })),
  },
  {
    title: 'marks that are paid',
    isOf: (stream) => isMarked(stream) || hasParent(stream),
    act: of(() => ({ clearedMarks: { ids: ['x'], lastMark: 1 } })),
  },
  {
    title: 'marks that wait for a later run, where there are any',
    isOf: (stream) => isMarked(stream) || hasParent(stream),
    act: of(() => ({ leftMarks: { ids: ['x'], lastMark: 1, run: 2, makes: false } })),
  },
  {
    title: 'marks that wait for a later run, made where there are none',
    isOf: (stream) => isMarked(stream) || hasParent(stream),
    act: of(() => ({ leftMarks: { ids: ['x'], lastMark: 1, run: 2, makes: true } })),
  },
  {
    title: 'rows of parents that were read again',
    isOf: hasParent,
    act: of(({ parent }) => ({
      sweptRows: { by: String(parent?.by), ids: ['x'], sinceRead: 1, at: START, isConfirmed: true },
    })),
  },
  {
    title: 'a history that was read to its end',
    isOf: isWindow,
    act: of(() => ({
      historyRead: { testId: 'x', readAt: START, mirroredAt: START, gaps: [{ from: START, to: START }], since: 2 },
    })),
  },
  {
    title: 'a history that could not be read',
    isOf: isWindow,
    act: of(() => ({ unreadHistory: { testId: 'x', pageLimit: null } })),
  },
  {
    title: 'what one read saw and gathered is dropped',
    isOf: () => true,
    act: of(() => ({ kind: 'discard', forget: 1 })),
  },
  {
    title: 'what a round saw and gathered is dropped',
    isOf: () => true,
    act: of(() => ({ kind: 'discard', forget: 'all' })),
  },
  {
    title: 'a sweep',
    isOf: isFeed,
    act: of(() => ({ kind: 'round-end', roundEnd: { ...SWEEP, isHeld: () => false } })),
  },
  {
    title: 'a sweep that is held back',
    isOf: isFeed,
    act: of(() => ({ kind: 'round-end', roundEnd: { ...SWEEP, isHeld: () => true } })),
  },
  {
    title: 'a sweep that another scan follows',
    isOf: isFeed,
    act: of(() => ({ kind: 'round-end', roundEnd: { ...SWEEP, isHeld: () => false, rememberFrom: 2 } })),
  },
  {
    title: 'a replacement of the table',
    isOf: isStaged,
    act: of(() => ({ kind: 'round-end', roundEnd: { ...ALL, isHeld: () => false } })),
  },
  {
    title: 'a replacement of the table that is held back',
    isOf: isStaged,
    act: of(() => ({ kind: 'round-end', roundEnd: { ...ALL, isHeld: () => true } })),
  },
  {
    title: 'a replacement of marked rows',
    isOf: isMarkedEdges,
    act: of(() => ({ kind: 'round-end', roundEnd: { ...MARKED, isHeld: () => false } })),
  },
  {
    title: 'a replacement of marked rows that is held back',
    isOf: isMarkedEdges,
    act: of(() => ({ kind: 'round-end', roundEnd: { ...MARKED, isHeld: () => true } })),
  },
  {
    title: 'the end of a round of marked rows',
    isOf: isFilled,
    act: of(() => ({ kind: 'round-end', roundEnd: { ...END, isHeld: () => false, isWhole: false, through: 'x' } })),
  },
  {
    title: 'the end of a whole read',
    isOf: isFilled,
    act: of(() => ({ kind: 'round-end', roundEnd: { ...END, isHeld: () => false } })),
  },
  { title: 'rows whose removal is held back are marked', isOf: isHeld, act: of(() => ({ kind: 'mark-held' })) },
  {
    title: 'removals that were held back are applied',
    isOf: isHeld,
    act: of(() => ({ kind: 'round-end', roundEnd: { ...END, isHeld: () => false, isReleased: true, isWhole: false } })),
  },
];

function rowOf({ fields }: Pick<Stream, 'fields'>): Row {
  return { ...Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, sampleValue(field)])), id: 'x' };
}

function sampleValue({ type }: Field): string | number {
  if (type === 'id' || type === 'text') return 'x';
  if (type === 'instant') return START;
  return type === 'json' ? '{}' : 1;
}

function decodedOf(stream: Stream): DecodedRow {
  const parts = (stream.childTables ?? []).map((child) => [{ ...rowOf(child), asset_id: 'x' }]);
  return { key: stream.key.map(() => 'x'), row: rowOf(stream), deletedAt: null, parts };
}

/** The initial row of a table. */
interface FurnishedRow {
  readonly table: string;
  readonly row: Row;
}

/**
 * One live row for every table of a stream, and a mark, a seen page, a rejected row and a held removal; of the
 * environment `e`.
 */
export function furnishedRows({ name: stream }: Stream): FurnishedRow[] {
  const live = CATALOGUE.flatMap(({ table, fields, childTables = [] }) => [{ table, fields }, ...childTables]).map(
    ({ table, fields }): FurnishedRow => {
      const row: Row = { ...rowOf({ fields }), asset_id: 'x', env_id: 'e', mirrored_at: START };
      const names = tableSqlOf(table).columns.filter((name) => name in row);
      return { table, row: Object.fromEntries(names.map((name) => [name, row[name] ?? null])) };
    },
  );
  const edge = { env_id: 'e', downstream_column_id: 'y', upstream_column_id: 'x', mirrored_at: START };
  return [
    ...live.filter(({ table }, i) => live.findIndex((other) => other.table === table) === i),
    ...live
      .filter(({ table }) => table === 'latest_test_executions')
      .map(({ table, row }) => ({ table, row: { ...row, sub_test_unique_id: 'z' } })),
    { table: 'column_lineage', row: edge },
    { table: 'mirror_environments', row: { env_id: 'e', mirrored_at: START, last_mark: 1 } },
    { table: 'marks', row: { env_id: 'e', stream, id: 'y', number: 9 } },
    { table: 'seen_pages', row: { env_id: 'e', stream, read_number: 1, keys: '[["y","y"]]' } },
    {
      table: 'rejected_rows',
      row: { env_id: 'e', stream, row_key: 'y', run_id: 1, reason: '', payload: '{}', seen_at: START },
    },
    { table: 'held_removals', row: { env_id: 'e', stream, key_1: 'x', key_2: '', absent_at: START } },
  ];
}

/** Inserts these rows into a mirror in a file. */
export function furnish(connection: Database, stream: Stream): void {
  for (const { table, row } of furnishedRows(stream)) {
    const names = Object.keys(row);
    const sql = `insert into ${quote(table)} (${list(names)}) values (${names.map(() => '?')})`;
    connection.prepare(sql).run(...Object.values(row));
  }
}
