import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Stream } from '../../src/core/stream.ts';
import { COPIED_TABLES } from '../../src/destination/sql/copied-tables.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { minute } from '../support/conformance/workbench.ts';
import { testFolder } from '../support/test-folder.ts';
import { COMMIT_KINDS, type CommitKind, furnish } from './commit-kinds.ts';

const { connection, ...mirror } = openForWriting(join(testFolder(), 'obsync.db'));
afterAll(() => connection.close());

const WITHOUT_TOMBSTONES = COPIED_TABLES.filter(({ isStamped, hasTombstones }) => isStamped && !hasTombstones);
const countRows = (): number =>
  WITHOUT_TOMBSTONES.reduce((sum, { name }) => {
    const count = connection.prepare<[], number>(`select count(*) from ${name}`).pluck().get();
    return sum + (count ?? 0);
  }, 0);

/** Whether a commit of this kind deleted rows that leave no tombstone, and whether it recorded that. */
async function removalOf(stream: Stream, { act }: CommitKind) {
  connection.exec('begin');
  furnish(connection, stream);
  const before = countRows();
  await act(createSqliteDestination({ connection, ...mirror }, { envId: 'e', run: 2, clock: () => minute(1) }), stream);
  const recorded = connection
    .prepare<[], number>('select rows_removed_at is mirrored_at from mirror_environments')
    .pluck()
    .get();
  const isRemoval = countRows() < before;
  connection.exec('rollback');
  return { isRemoval, isRecorded: recorded === 1 };
}

test('a commit that deletes rows without tombstones records its time, which a replica compares with its own', async () => {
  const removing = new Set<string>();
  for (const stream of CATALOGUE)
    for (const kind of COMMIT_KINDS.filter(({ isOf }) => isOf(stream))) {
      const { isRemoval, isRecorded } = await removalOf(stream, kind);
      expect(isRecorded, `${kind.title} (${stream.name})`).toBe(isRemoval);
      if (isRemoval) removing.add(stream.name);
    }
  const snapshots = ['asset_lineage', 'column_lineage', 'latest_test_executions', 'asset_health_scores'];
  expect([...removing]).toEqual(['assets', 'columns', ...snapshots]);
});
