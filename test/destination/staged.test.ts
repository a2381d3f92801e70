import { beforeEach, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import type { Destination } from '../../src/core/ports/destination.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { streamOf, T } from '../core/setup.ts';
import { PLAIN_ROUND_END } from '../support/commit-parts.ts';
import { claimedMirror } from './setup.ts';

let mirror: MirrorFile;
beforeEach(() => {
  mirror = claimedMirror();
});

const on = (): Destination => createSqliteDestination(mirror, { envId: 'e', run: 1, clock: () => T });

test('an unchanged row of a snapshot is only staged if another version of it was staged (R16)', async () => {
  const stream = streamOf('asset_lineage');
  const edge = (extra: string | null = null) => {
    const row = { upstream_asset_id: 'a', downstream_asset_id: 'b', extra };
    return { key: ['a', 'b'], row, deletedAt: null, parts: [] };
  };
  const show = (readNumber: number, extra: string | null = null) =>
    on().commit(
      stream,
      { kind: 'page', checkpoint: NO_PROGRESS, staged: { rows: [edge(extra)], readNumber } },
      new Set(),
    );
  const endRound = () =>
    on().commit(
      stream,
      {
        kind: 'round-end',
        checkpoint: NO_PROGRESS,
        roundEnd: { ...PLAIN_ROUND_END, replace: 'all', isHeld: () => false },
      },
      new Set(),
    );
  const stagedRows = () => mirror.connection.prepare('select extra from asset_lineage_staged').pluck().all();
  await show(1);
  await endRound();
  await show(1);
  expect(stagedRows()).toEqual([]);
  expect(await endRound()).toMatchObject({ counts: { written: 0, deleted: 0 } });
  await show(1, '{"v":2}');
  await show(2);
  expect(stagedRows()).toEqual(['{"v":2}', null]);
  expect(await endRound()).toMatchObject({ counts: { written: 0, deleted: 0 } });
  expect(mirror.connection.prepare('select extra from asset_lineage').pluck().all()).toEqual([null]);
});
