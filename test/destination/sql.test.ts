import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import type { DecodedRow } from '../../src/core/decode.ts';
import type { Destination, RoundEnd } from '../../src/core/destination.ts';
import type { Field, Row, Stream } from '../../src/core/stream.ts';
import { writeNoted } from '../../src/destination/sql/seen-keys.ts';
import { list, quote, tableSqlOf } from '../../src/destination/sql/tables.ts';
import { createDestination } from '../../src/destination/sqlite/destination.ts';
import { perform } from '../../src/destination/sqlite/driver.ts';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { CATALOGUE, STREAM_NAMES } from '../../src/streams/catalogue.ts';
import { type CommitParts, commitOf } from '../support/commit-parts.ts';
import { START } from '../support/conformance/workbench.ts';
import { readable } from './sql-text.ts';

let mirror: MirrorFile;
let folder: string;
let prepared: string[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'obsync-'));
  mirror = openForWriting(join(folder, 'obsync.db'));
  const prepare = mirror.connection.prepare.bind(mirror.connection);
  Object.assign(mirror.connection, {
    prepare(sql: string) {
      prepared.push(sql);
      return prepare(sql);
    },
  });
});
afterAll(() => {
  mirror.connection.close();
  rmSync(folder, { recursive: true });
});

/** A part of a commit for the streams that have it, or the count of its removals. */
interface Part {
  readonly title: string;
  readonly isOf: (stream: Stream) => boolean;
  readonly act: (destination: Destination, stream: Stream) => Promise<unknown>;
}

const END: RoundEnd = {
  ...{ sweep: null, through: null, rememberFrom: null, replace: null },
  ...{ lastMark: 1, run: 2, isWhole: true },
};
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

const of =
  (partsOf: (stream: Stream) => CommitParts): Part['act'] =>
  (destination, stream) =>
    destination.commit(stream, commitOf(NO_PROGRESS, partsOf(stream)), new Set(STREAM_NAMES));

const PARTS: readonly Part[] = [
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
      sweptParents: { by: String(parent?.by), ids: ['x'], sinceRead: 1, at: START },
    })),
  },
  {
    title: 'a history that was read to its end',
    isOf: isWindow,
    act: of(() => ({
      historyRead: { testId: 'x', readAt: START, mirroredAt: START, gap: { from: START, to: START }, since: 2 },
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
  { title: 'removals that were held back are let go', isOf: isHeld, act: of(() => ({ kind: 'release' })) },
];

function rowOf({ fields }: Pick<Stream, 'fields'>): Row {
  return { ...Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, sampleValue(field)])), id: 'x' };
}

function sampleValue({ type }: Field): string | number {
  if (type === 'text') return 'x';
  if (type === 'instant') return START;
  return type === 'json' ? '{}' : 1;
}

function decodedOf(stream: Stream): DecodedRow {
  const parts = (stream.childTables ?? []).map((child) => [{ ...rowOf(child), asset_id: 'x' }]);
  return { key: stream.key.map(() => 'x'), row: rowOf(stream), deletedAt: null, parts };
}

/** Writes one live row to every table of a stream, and a mark, a seen page, a rejected row and a held removal. */
function furnish(stream: Stream): void {
  for (const { table, fields, childTables = [] } of CATALOGUE)
    for (const each of [{ table, fields }, ...childTables]) {
      const row: Row = { ...rowOf(each), asset_id: 'x', env_id: 'e', mirrored_at: '' };
      const names = tableSqlOf(each.table).columns.filter((name) => name in row);
      const values = names.map((name) => row[name]);
      mirror.connection
        .prepare(
          `insert or ignore into ${quote(each.table)} (${list(names)}) values (${names.map(() => '?').join(', ')})`,
        )
        .run(...values);
    }
  mirror.connection.exec(`
    insert or ignore into column_lineage (env_id, downstream_column_id, upstream_column_id, mirrored_at)
      values ('e', 'y', 'x', '');
    insert into mirror_environments (env_id, mirrored_at, last_mark) values ('e', '', 1);
    insert into marks (env_id, stream, id, number) values ('e', '${stream.name}', 'y', 9);
    insert into seen_pages (env_id, stream, read_number, keys) values ('e', '${stream.name}', 1, '[["y","y"]]');
    insert into rejected_rows (env_id, stream, row_key, run_id, reason, payload, seen_at)
      values ('e', '${stream.name}', 'y', 1, '', '{}', '');
    insert into held_removals (env_id, stream, key_1, key_2, absent_at) values ('e', '${stream.name}', 'x', '', '')`);
}

/** The distinct statements of a part, in the order of their first use. Its transaction is rolled back. */
async function statementsOf(stream: Stream, act: Part['act']): Promise<string[]> {
  const { connection } = mirror;
  connection.exec('begin');
  furnish(stream);
  const unkept: MirrorFile = { ...mirror, prepare: (name, text = () => name) => connection.prepare(text()) };
  prepared = [];
  await act(createDestination(unkept, { envId: 'e', run: 2, clock: () => START }), stream);
  // Every transaction of the mirror ends with this.
  perform(unkept.prepare, writeNoted(mirror.noted));
  const statements = [...new Set(prepared)];
  connection.exec('rollback');
  return statements;
}

const section = (title: string, statements: readonly string[]): string =>
  [`-- ${title}`, ...statements.map((sql) => `${readable(sql)};`)].join('\n\n');

test.each(CATALOGUE)('every part of a commit of $name makes the statements that its file shows', async (stream) => {
  const always = await statementsOf(
    stream,
    of(() => ({})),
  );
  const sections = [section('every commit: the clock and the checkpoint', always)];
  for (const { title, isOf, act } of PARTS) {
    if (!isOf(stream)) continue;
    const statements = (await statementsOf(stream, act)).filter((sql) => !always.includes(sql));
    expect(statements, title).not.toEqual([]);
    sections.push(section(title, statements));
  }
  await expect(`${sections.join('\n\n\n')}\n`).toMatchFileSnapshot(`sql/${stream.name}.sql`);
});
