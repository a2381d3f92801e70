import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type MirrorFile, openForWriting } from '../../src/destination/sqlite/open.ts';
import { cacheReads } from './cached-reads.ts';

let folder: string;
let opened: MirrorFile;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'obsync-reads-'));
  opened = openForWriting(join(folder, 'mirror.db'), 1000);
});
afterEach(() => {
  opened.connection.close();
  rmSync(folder, { recursive: true });
});

const READ = 'select env_id from mirror_environments';
const INSERT = "insert into mirror_environments (env_id, mirrored_at) values (@env, '')";
const LOST = new Error('the transaction fails');

test('rows are read again once a statement has written their table, and only then', () => {
  const { file, rows } = cacheReads(opened);
  const none = rows(READ);
  file.prepare('delete from marks').run();
  expect(rows(READ)).toBe(none);
  file.prepare(INSERT).run({ env: 'e1' });
  expect(rows(READ)).toEqual([{ env_id: 'e1' }]);
});

test('rows of a view are always read', () => {
  const { file, rows } = cacheReads(opened);
  const read = 'select day from health_daily';
  expect(rows(read)).not.toBe(rows(read));
  expect(file.connection.inTransaction).toBe(false);
});

test.each<[string, (file: MirrorFile, work: () => never) => void]>([
  ['commit', ({ transactions }, work) => transactions.write(work)],
  ['change of the state', ({ connection }, work) => connection.transaction(work)()],
])('rows are read again after a %s was rolled back', (_, write) => {
  const { file, rows } = cacheReads(opened);
  const failing = (): void =>
    write(file, () => {
      file.prepare(INSERT).run({ env: 'e1' });
      expect(rows(READ)).toHaveLength(1);
      throw LOST;
    });
  expect(failing).toThrow(LOST);
  expect(rows(READ)).toEqual([]);
});
