import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { takeLock } from '../../state/lock.ts';
import { temporarySchema } from '../support/postgres.ts';
import { mirrorFile, obsync, refusal } from './setup.ts';

test('compact returns the space of removed rows while a reader goes on, and keeps every row', async () => {
  const db = mirrorFile(({ connection }) => {
    connection.exec(`insert into asset_health_score_history (env_id, asset_id, dimension, score, test_count, bucket_at, mirrored_at)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
      select 'e', 'a' || i, 'total', 1, 1, '2026-01-01T00:00:00.000000Z', '2026-11-20T00:00:00.000000Z' from n`);
    connection.exec('delete from asset_health_score_history where rowid > 100');
  });
  const reader = new Database(db, { readonly: true });
  onTestFinished(() => void reader.close());
  const count = () => reader.prepare('select count(*) from asset_health_score_history').pluck().get();
  expect(count()).toBe(100);
  const { code, stdout } = await obsync(['compact', '--db', db, '--json']);
  const { bytes_before, bytes_after } = JSON.parse(stdout);
  expect(code).toBe(0);
  expect(bytes_after).toBeLessThan(bytes_before / 2);
  expect(count()).toBe(100);
  const again = await obsync(['compact', '--db', db]);
  expect(again.stdout).toMatch(/m\.db: \d+\.\d KiB before, \d+\.\d KiB now\.$/m);
});

test('compact refuses a mirror that is being written (exit 4), one that does not exist, and PostgreSQL', async () => {
  expect(await obsync(['compact'])).toEqual(refusal(/obsync\.db does not exist: make it with `obsync sync`/));
  const db = mirrorFile();
  const lock = takeLock(db);
  onTestFinished(() => lock.release());
  expect((await obsync(['compact', '--db', db])).code).toBe(4);
  const { url } = await temporarySchema();
  expect(await obsync(['compact'], { env: { OBSYNC_DB: url } })).toEqual(
    refusal(/^obsync: .*compact works on a file, and postgres:\S+ is in PostgreSQL\..*`vacuum full`/),
  );
});

test('compact says if a reader still needs the old pages', async () => {
  const db = mirrorFile();
  const reader = new Database(db, { readonly: true });
  onTestFinished(() => void reader.close());
  reader.exec('begin');
  reader.prepare('select count(*) from assets').get();
  expect((await obsync(['compact', '--db', db])).stdout).toContain('A reader still uses the old pages');
});
