import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import { decodePage } from '../../src/core/decode/decode.ts';
import type { Stream } from '../../src/core/stream.ts';
import { commitStatements } from '../../src/destination/sql/commit.ts';
import type { SqlStatements } from '../../src/destination/sql/statements.ts';
import { upsert } from '../../src/destination/sql/write-rows.ts';
import { perform, sqliteScope } from '../../src/destination/sqlite/driver.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { clockOfOneWriter } from '../../state/mirror-clock.ts';
import { streamOf } from '../core/setup.ts';
import { type CommitParts, commitOf, PLAIN_ROUND_END } from '../support/commit-parts.ts';
import { asset, column, edge, link, START } from '../support/conformance/workbench.ts';
import { claimedMirror } from './setup.ts';

type Play = (mirror: MirrorFile, statements: SqlStatements<unknown>) => Promise<unknown>;

const atOnce: Play = async (mirror, statements) => perform(mirror.prepare, statements);

/** Waits after every statement, like a driver for a network database. */
const oneByOne: Play = async (mirror, statements) => {
  let step = statements.next();
  while (step.done !== true) {
    const asked = step.value;
    const answer = perform(mirror.prepare, ask(asked));
    await setImmediate();
    step = statements.next(answer);
  }
  return step.value;
};

type Asked = SqlStatements<unknown> extends Generator<infer Yielded, unknown, infer Answer> ? [Yielded, Answer] : never;

function* ask(asked: Asked[0]): SqlStatements<Asked[1]> {
  return yield asked;
}

const shown = (stream: Stream, items: readonly object[]): CommitParts => ({
  changes: decodePage(stream, items).rows.map(({ row }) => ({ kind: 'inserted', row })),
});
const staged = (stream: Stream, items: readonly object[]): CommitParts => ({
  staged: { rows: decodePage(stream, items).rows, readNumber: 1 },
});

const assets = streamOf('assets');
const columns = streamOf('columns');
const lineage = streamOf('column_lineage');
const links = streamOf('asset_lineage');

const COMMITS: readonly (readonly [Stream, CommitParts])[] = [
  [assets, shown(assets, [asset('a'), asset('b')])],
  [columns, shown(columns, [column('c'), column('d'), column('e')])],
  [columns, { marks: [{ stream: 'column_lineage', id: 'c' }] }],
  [columns, { seen: { keys: [['c']], readNumber: 1 } }],
  [lineage, staged(lineage, [edge('c', 'd')])],
  [lineage, { kind: 'round-end', roundEnd: { ...PLAIN_ROUND_END, replace: 'all', isHeld: () => false } }],
  [columns, { kind: 'round-end', roundEnd: { ...PLAIN_ROUND_END, sweep: { at: START }, isHeld: () => true } }],
  [
    columns,
    { kind: 'round-end', roundEnd: { ...PLAIN_ROUND_END, isReleased: true, isWhole: false, isHeld: () => false } },
  ],
  [links, staged(links, [link('a', 'b'), link('b', 'a')])],
  [links, { rejected: [{ key: null, rowKey: 'x', reason: 'r', payload: '{}' }] }],
  [links, { kind: 'round-end', roundEnd: { ...PLAIN_ROUND_END, replace: 'all', isHeld: () => false } }],
];

/** The rows of a mirror after all commits, and the result of each commit. */
async function played(play: Play): Promise<unknown> {
  const mirror = claimedMirror();
  const results: unknown[] = [];
  for (const [stream, parts] of COMMITS) {
    const commit = commitOf(NO_PROGRESS, parts);
    const marking = new Set(['column_lineage']);
    const options = { run: 1, clock: clockOfOneWriter(() => START), commit, marking };
    mirror.connection.exec('begin immediate');
    results.push(await play(mirror, commitStatements(sqliteScope(mirror, 'e'), stream, options)));
    mirror.connection.exec('commit');
  }
  const tables = ['assets', 'columns', 'column_lineage', 'asset_lineage', 'marks', 'held_removals', 'rejected_rows'];
  return {
    results,
    rows: [...tables, 'sync_checkpoints', 'mirror_environments'].map((table) =>
      mirror.connection.prepare(`select * from ${table} order by 1, 2, 3`).all(),
    ),
  };
}

test('a commit has the same result when its driver waits after every statement (R5)', async () => {
  const expected = await played(atOnce);
  expect(expected).toMatchObject({
    results: expect.arrayContaining([
      expect.objectContaining({ counts: { written: 0, deleted: 2, rejected: 0 }, isQuiet: false }),
    ]),
  });
  expect(await played(oneByOne)).toEqual(expected);
});

test('a write takes the columns that its own rows share, whatever an earlier write of the table shared', () => {
  const mirror = claimedMirror();
  const scope = {
    ...sqliteScope(mirror, 'e'),
    run: 1,
    marking: new Set<never>(),
    reopened: new Set<never>(),
    mirroredAt: START,
  };
  const rows = ['c', 'd', 'e'].map((id) => ({ ...column(id), name: `name of ${id}`, data_type: `type of ${id}` }));
  perform(mirror.prepare, upsert(scope, 'columns', rows, { added: { name: 'shared' } }));
  const before = mirror.connection.prepare('select name, data_type from columns order by id').raw().all();
  expect(before).toEqual(['c', 'd', 'e'].map((id) => ['shared', `type of ${id}`]));
  perform(mirror.prepare, upsert(scope, 'columns', rows, { added: { data_type: 'shared' } }));
  const after = mirror.connection.prepare('select name, data_type from columns order by id').raw().all();
  expect(after).toEqual(['c', 'd', 'e'].map((id) => [`name of ${id}`, 'shared']));
});
