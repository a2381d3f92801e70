import { beforeEach, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import type { BacklogQuery, Destination, RemovalCount, RoundEnd } from '../../src/core/ports/destination.ts';
import { LAST_INSTANT } from '../../src/core/time/instant.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { streamOf, T } from '../core/setup.ts';
import { type CommitParts, commitOf, PLAIN_ROUND_END } from '../support/commit-parts.ts';
import { claimedMirror } from './setup.ts';

let mirror: MirrorFile;
/** How often the table was searched for missing rows. */
let passes = 0;
let on: Destination;
beforeEach(() => {
  mirror = claimedMirror();
  passes = 0;
  const counting: MirrorFile = {
    ...mirror,
    prepare: (name, text) => {
      if (name.startsWith('insert into missing_keys')) passes += 1;
      return mirror.prepare(name, text);
    },
  };
  on = createSqliteDestination(counting, { envId: 'e', run: 1, clock: () => T });
});

const stream = streamOf('columns');
const commit = async (parts: CommitParts) => (await on.commit(stream, commitOf(NO_PROGRESS, parts), new Set())).counts;
const column = (id: string) => {
  const row = {
    id,
    asset_id: null,
    name: id,
    data_type: null,
    synced_at: T,
    deleted_at: null,
    deletion: null,
    extra: null,
  };
  return { row, kind: 'inserted' } as const;
};
const bring = (...ids: string[]) => commit({ changes: ids.map(column) });
const see = (...ids: string[]) => commit({ seen: { keys: ids.map((id) => [id]), readNumber: 1 } });

const QUERY: BacklogQuery = {
  about: 'candidates',
  after: '',
  before: null,
  lastMark: 0,
  run: 1,
  mode: 'scan',
  settledBefore: LAST_INSTANT,
};
const SWEEP: RoundEnd = { ...PLAIN_ROUND_END, sweep: { at: T } };
const candidates = async () => (await on.backlog(stream, QUERY)).ids;
const settle = (isHeld: (counted: RemovalCount) => boolean = () => false) =>
  commit({ kind: 'round-end', roundEnd: { ...SWEEP, isHeld } });

test('rows that a scan has not seen are found in a single pass over the table per scan (R12)', async () => {
  await bring('a', 'b', 'c');
  await see('a');
  expect(await candidates()).toEqual(['b', 'c']);
  await see('c');
  expect(await candidates()).toEqual(['b']);
  const counted: RemovalCount[] = [];
  expect(await settle((removals) => counted.push(removals) === 0)).toMatchObject({ deleted: 1 });
  expect(counted).toEqual([{ live: 2, toRemove: 1 }]);
  expect(passes).toBe(1);
});

test('a row written after the missing rows were found counts as missing too, unless it is seen (R12)', async () => {
  await bring('a', 'b');
  await see('a');
  expect(await candidates()).toEqual(['b']);
  await bring('c');
  expect(await candidates()).toEqual(['b', 'c']);
  expect(await settle()).toMatchObject({ deleted: 2 });
});

test('rows that one scan has not seen don’t count for the next (R12)', async () => {
  await bring('a', 'b');
  expect(await candidates()).toEqual(['a', 'b']);
  await commit({ kind: 'discard', forget: 'all' });
  mirror.connection.exec("update columns set deleted_at = '2026' where id = 'a'");
  expect(await candidates()).toEqual(['b']);
});
