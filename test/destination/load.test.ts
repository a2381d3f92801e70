import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Checkpoint, Phase } from '../../src/core/checkpoint.ts';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import type { Commit, Destination } from '../../src/core/destination.ts';
import type { StreamName } from '../../src/core/stream.ts';
import { createDestination } from '../../src/destination/sqlite/destination.ts';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { claimMirror } from '../../state/run-log.ts';
import { round, streamOf, T, walk, YESTERDAY } from '../core/setup.ts';

let folder: string;
let mirror: MirrorFile;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'obsync-'));
  mirror = openForWriting(join(folder, 'obsync.db'));
  claimMirror(mirror.db, 'http://localhost');
});
afterEach(() => {
  mirror.connection.close();
  rmSync(folder, { recursive: true });
});

const on = (): Destination => createDestination(mirror, { envId: 'e', run: 1, clock: () => T });
const ids = (table: string): unknown[] => mirror.connection.prepare(`select id from ${table}`).pluck().all();
const FURTHER = [walk('scan')];

function scan(phases: readonly Phase[], given: Partial<Checkpoint> = {}): Checkpoint {
  return { ...NO_PROGRESS, round: round({ mode: 'scan', phases, reads: 1 }), ...given };
}

const column = (id: string, name: string, synced_at = YESTERDAY) => {
  const row = { id, asset_id: 'a', name, data_type: null, synced_at, extra: null, deleted_at: null, deletion: null };
  return { row, was: 'inserted' } as const;
};

function page(
  checkpoint: Checkpoint,
  rows: ReturnType<typeof column>[],
  given: Partial<Commit> = {},
  marking: StreamName[] = [],
) {
  const commit = { checkpoint, changes: rows, ...given };
  return on().commit(streamOf('columns'), commit, new Set(marking));
}

test('the rows of a first scan wait beside the table, and are put in place together when it ends (R5)', () => {
  expect(page(scan(FURTHER), [column('b', 'b'), column('c', 'c')]).written).toBe(2);
  expect([ids('columns'), ids('columns_loading')]).toEqual([[], ['b', 'c']]);
  expect(page(scan([]), [column('a', 'a')]).written).toBe(1);
  // In the order of the key: the table has no other one.
  expect(mirror.connection.prepare('select id from columns order by rowid').pluck().all()).toEqual(['a', 'b', 'c']);
  expect(ids('columns_loading')).toEqual([]);
});

test('a row that the scan shows twice is put in place as it is newest, or was shown last (R10)', () => {
  page(scan(FURTHER), [column('a', 'newest', T), column('b', 'first')]);
  page(scan(FURTHER), [column('a', 'old', YESTERDAY)]);
  page(scan([]), [column('b', 'last')]);
  const found = mirror.connection.prepare('select id, name from columns order by id').raw().all();
  expect(found).toEqual([
    ['a', 'newest'],
    ['b', 'last'],
  ]);
});

test('a stream that began meanwhile has the rows marked for it as they are put in place (R18)', () => {
  page(scan(FURTHER), [column('a', 'a'), column('b', 'b')]);
  const marks = [{ stream: 'column_lineage', id: 'c' }] as const;
  page(scan(FURTHER), [column('c', 'c')], { marks }, ['column_lineage']);
  expect(ids('columns')).toEqual(['a', 'b', 'c']);
  expect(mirror.connection.prepare('select id from marks order by id').pluck().all()).toEqual(['a', 'b', 'c']);
  page(scan(FURTHER), [column('d', 'd')], {}, ['column_lineage']);
  expect(ids('columns')).toContain('d');
});

test('a read that starts anew takes along what it had shown (R7)', () => {
  page(scan(FURTHER), [column('a', 'a')]);
  on().commit(streamOf('columns'), { checkpoint: scan(FURTHER), forget: 1 }, new Set());
  expect(ids('columns_loading')).toEqual([]);
  page(scan([]), [column('b', 'b')]);
  expect(ids('columns')).toEqual(['b']);
});

test('only a first scan has its rows wait: later ones, and feeds, write them at once (R10)', () => {
  const later = [
    scan(FURTHER, { scanEndedPass: 3 }),
    scan(FURTHER, { round: round({ mode: 'scan', phases: FURTHER, sweeps: true }) }),
    scan(FURTHER, { round: round({ mode: 'feed', phases: FURTHER }) }),
  ];
  later.forEach((checkpoint, i) => {
    page(checkpoint, [column(`c${i}`, 'c')]);
  });
  expect(ids('columns')).toEqual(['c0', 'c1', 'c2']);
});

test('an unchanged row of a snapshot is noted as seen and not gathered, unless another version was (R16)', () => {
  const stream = streamOf('asset_lineage');
  const edge = (extra: string | null = null) => {
    const row = { upstream_asset_id: 'a', downstream_asset_id: 'b', extra };
    return { key: ['a', 'b'], row, deletedAt: null, parts: [] };
  };
  const show = (readNumber: number, extra: string | null = null) =>
    on().commit(stream, { checkpoint: NO_PROGRESS, staged: { rows: [edge(extra)], readNumber } }, new Set());
  const settlement = { sweep: null, through: null, rememberFrom: null, lastMark: 0, run: 1, isWhole: true } as const;
  const settle = () =>
    on().commit(stream, { checkpoint: NO_PROGRESS, settle: { ...settlement, replace: 'all', hold: false } }, new Set());
  const gathered = () => mirror.connection.prepare('select extra from asset_lineage_staged').pluck().all();
  show(1);
  settle();
  show(1);
  expect(gathered()).toEqual([]);
  expect(settle()).toMatchObject({ written: 0, deleted: 0 });
  show(1, '{"v":2}');
  show(2);
  expect(gathered()).toEqual(['{"v":2}', null]);
  expect(settle()).toMatchObject({ written: 0, deleted: 0 });
  expect(mirror.connection.prepare('select extra from asset_lineage').pluck().all()).toEqual([null]);
});
