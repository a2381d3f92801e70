import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Checkpoint, NO_PROGRESS } from '../../src/core/checkpoint.ts';
import type { Destination } from '../../src/core/ports/destination.ts';
import { LAST_INSTANT } from '../../src/core/time/instant.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { streamOf, T } from '../core/setup.ts';
import { type CommitParts, commitOf, PLAIN_ROUND_END } from '../support/commit-parts.ts';
import { claimedMirror } from './setup.ts';

const QUIET_MS = 1000;

let mirror: MirrorFile;
let reader: Database.Database;
beforeEach(() => {
  vi.useFakeTimers();
  mirror = claimedMirror(QUIET_MS);
  reader = new Database(mirror.path, { readonly: true });
});
afterEach(() => {
  vi.useRealTimers();
  reader.close();
});

const stream = streamOf('asset_lineage');
const on = (): Destination => createSqliteDestination(mirror, { envId: 'e', run: 1, clock: () => T });
const commit = (parts: CommitParts, checkpoint: Checkpoint = NO_PROGRESS) =>
  on().commit(stream, commitOf(checkpoint, parts), new Set());

const edge = (upstream: string) => {
  const row = { upstream_asset_id: upstream, downstream_asset_id: 'z', extra: null };
  return { key: [upstream, 'z'], row, deletedAt: null, parts: [] };
};
const show = (...upstream: string[]) =>
  commit({ staged: { rows: upstream.map(edge), readNumber: 1 } }, { ...NO_PROGRESS, watermark: T });
const endRound = () =>
  commit({ kind: 'round-end', roundEnd: { ...PLAIN_ROUND_END, replace: 'all', isHeld: () => false } });

/** What another connection reads from the file. */
const kept = (column: string, table: string): unknown[] =>
  reader.prepare(`select ${column} from ${table}`).pluck().all();

/** The mirror has the edges `a` and `b`. */
async function hold(): Promise<void> {
  await show('a', 'b');
  await endRound();
}

test('a page that changes nothing is written along with the next commit, both in one transaction (R5)', async () => {
  await hold();
  await show('a');
  expect(kept('keys', 'seen_pages')).toEqual([]);
  expect(kept('watermark', 'sync_checkpoints')).toEqual([null]);
  await show('b', 'c');
  expect(kept('keys', 'seen_pages')).toEqual(['[["a","z"]]', '[["b","z"],["c","z"]]']);
  expect(kept('upstream_asset_id', 'asset_lineage_staged')).toEqual(['c']);
  expect(kept('watermark', 'sync_checkpoints')).toEqual([T]);
});

test('a page that changes nothing is written after the quiet time, or at the end of the run (R5)', async () => {
  await hold();
  await show('a');
  vi.advanceTimersByTime(QUIET_MS - 1);
  expect(kept('keys', 'seen_pages')).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(kept('keys', 'seen_pages')).toEqual(['[["a","z"]]']);
  await show('b');
  mirror.transactions.flush();
  expect(kept('keys', 'seen_pages')).toEqual(['[["a","z"]]', '[["b","z"]]']);
  expect(vi.getTimerCount()).toBe(0);
});

test('keys of pages still waiting when their round ends are used, but never written (R12)', async () => {
  await hold();
  mirror.connection.exec("create trigger none before insert on seen_pages begin select raise(abort, 'written'); end");
  await show('a');
  expect(await endRound()).toMatchObject({ counts: { written: 0, deleted: 1 } });
  mirror.transactions.flush();
  expect(kept('upstream_asset_id', 'asset_lineage')).toEqual(['a']);
});

test('a commit that fails rolls back the waiting pages, and every later commit fails (R5)', async () => {
  await hold();
  await show('a');
  mirror.connection.exec(
    "create trigger none before insert on sync_checkpoints begin select raise(abort, 'full'); end",
  );
  await expect(show('b')).rejects.toThrow('full');
  mirror.connection.exec('drop trigger if exists none');
  await expect(show('b')).rejects.toThrow('full');
  expect(() => mirror.transactions.flush()).toThrow('full');
  expect(kept('keys', 'seen_pages')).toEqual([]);
  expect(mirror.connection.inTransaction).toBe(false);
});

test('if waiting pages cannot be written in time, the next commit fails with the reason (R5)', async () => {
  await hold();
  mirror.connection.exec("create trigger none before insert on seen_pages begin select raise(abort, 'full'); end");
  await show('a');
  vi.advanceTimersByTime(QUIET_MS);
  expect(mirror.connection.inTransaction).toBe(false);
  await expect(show('b')).rejects.toThrow('full');
});

test('a commit moves the clock and the mark counter of its own environment only (R18, R21)', async () => {
  const marks = [{ stream: 'column_lineage', id: 'c' }] as const;
  const markIn = (envId: string) =>
    createSqliteDestination(mirror, { envId, run: 1, clock: () => T }).commit(
      streamOf('columns'),
      { kind: 'page', checkpoint: NO_PROGRESS, marks },
      new Set(),
    );
  const clocks = () =>
    mirror.connection
      .prepare('select env_id, mirrored_at, last_mark from mirror_environments order by env_id')
      .raw()
      .all();
  await markIn('e');
  await markIn('f');
  await markIn('f');
  expect(clocks()).toEqual([
    ['e', T, 1],
    ['f', T.replace('000Z', '002Z'), 2],
  ]);
  expect((await on().facts(stream, { since: null, settledBefore: LAST_INSTANT })).lastMark).toBe(1);
});

test('if SQLite rolls back while pages wait, nothing more is written, and every later commit fails (R5)', async () => {
  await hold();
  const before = kept('watermark', 'sync_checkpoints');
  await show('a');
  // SQLite does this if the disk is full during another statement.
  mirror.connection.exec('ROLLBACK');
  await expect(show('c')).rejects.toMatchObject({ recovery: 'run' });
  expect(mirror.connection.inTransaction).toBe(false);
  expect(kept('watermark', 'sync_checkpoints')).toEqual(before);
  expect(() => mirror.transactions.flush()).toThrow(/check the disk/);
});
