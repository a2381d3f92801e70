import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type VerifyExportReport, verifyExportOnce } from '../../src/api/compare-export.ts';
import { SyncError } from '../../src/core/errors.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { concurrencyOf } from '../../src/export/bucket/at-once.ts';
import { bucketAddress } from '../../src/export/bucket/bucket-address.ts';
import type { ObjectStore } from '../../src/export/bucket/object-store.ts';
import { EXPORT_FORMATS } from '../../src/export/formats.ts';
import { brokenObjects, manifestOf, operationsOf, unnamed, visibleIn, visibleUnder } from './bucket-setup.ts';
import { SOME } from './faults.ts';
import { createMemoryStore } from './memory-store.ts';
import { change, exportOf, exportToBucket, folder, manifestIn, smallMirror } from './setup.ts';

const DAY_MS = 86_400_000;

const verifyBucket = (mirror: MirrorFile, store: ObjectStore): Promise<VerifyExportReport> =>
  verifyExportOnce({ db: mirror.path, against: store.url }, new AbortController().signal, async () => store);

describe('an export to object storage', () => {
  test.each(EXPORT_FORMATS)('writes the objects that an export to a folder writes as files: %s', async (format) => {
    const [mirror, store, to] = [smallMirror(), createMemoryStore(), folder()];
    for (let n = 1; n <= 4; n++) {
      const options = { format, tables: n > 2 ? [...SOME, 'asset_health', 'failing_tests'] : SOME };
      const reports = [await exportOf(mirror, to, options), await exportToBucket(mirror, store, options)];
      expect({ ...reports[1], to }).toEqual(reports[0]);
      expect(unnamed(manifestOf(store))).toEqual(unnamed(manifestIn(to)));
      expect(brokenObjects(store, { inFolders: true })).toEqual([]);
      if (format !== 'delta') expect(visibleIn(store)).toEqual(visibleUnder(to));
      change(mirror, n);
    }
  });

  test('does not keep the log of the mirror from shrinking while objects are written', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    const busy: unknown[] = [];
    store.before = (operation) => {
      if (operation === 'write') busy.push(mirror.connection.pragma('wal_checkpoint(truncate)'));
    };
    change(mirror);
    await exportToBucket(mirror, store, { tables: ['assets'] });
    expect(busy[0]).toEqual([{ busy: 0, log: 0, checkpointed: 0 }]);
  });

  test('views.sql reads the objects', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    await exportToBucket(mirror, store, { tables: ['assets'] });
    const views = Buffer.from(store.objects.get('views.sql')?.bytes ?? []).toString();
    const paths = manifestOf(store).files.map(({ path }) => `'s3://bucket/lake/${path}'`);
    expect(paths.filter((path) => !views.includes(path))).toEqual([]);
  });

  test('without changes it writes nothing, and reads only what it has to know', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    const known = ['list ', 'read manifest.json', 'read .files/etags.json', 'read views.sql'];
    await exportToBucket(mirror, store, { tables: SOME });
    expect(await operationsOf(store, () => exportToBucket(mirror, store, { tables: SOME }))).toEqual(known);
    const delta = { format: 'delta', tables: ['assets'] } as const;
    const [asDelta, log] = [createMemoryStore(), 'assets/_delta_log/00000000000000000000.json'];
    await exportToBucket(mirror, asDelta, delta);
    expect(await operationsOf(asDelta, () => exportToBucket(mirror, asDelta, delta))).toEqual([
      ...known,
      `read ${log}`,
    ]);
  });

  test('objects that no manifest names stay for a day, because another export may be about to name them', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    const stray = '.files/assets/e1/0123456789abcdef';
    await store.write(stray, Buffer.from('x'), null);
    await exportToBucket(mirror, store, { tables: ['assets'] });
    await exportToBucket(mirror, store, { tables: ['assets'] });
    expect(store.objects.has(stray)).toBe(true);
    store.ageMs = 2 * DAY_MS;
    await store.write(stray, Buffer.from('x'), null);
    await exportToBucket(mirror, store, { tables: ['assets'] });
    expect(store.objects.has(stray)).toBe(false);
  });

  test('an export succeeds if the response to its manifest was lost and the request was sent again', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    const { write } = store;
    store.write = async (path, bytes, condition) => {
      await write(path, bytes, condition);
      return write(path, bytes, condition);
    };
    await exportToBucket(mirror, store, { tables: ['assets'] });
    change(mirror);
    await exportToBucket(mirror, store, { tables: ['assets'], format: 'delta' });
    expect(brokenObjects(store)).toEqual([]);
  });

  test('an object that was overwritten is repaired, and the export is then equal to the mirror', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    await exportToBucket(mirror, store, { tables: ['assets'] });
    const before = visibleIn(store);
    for (const folder of ['.files/assets/', 'assets/']) {
      const damaged = [...store.objects].filter(([path]) => path.startsWith(folder));
      expect(damaged).toHaveLength(2);
      for (const [path, { bytes }] of damaged) await store.write(path, bytes.with(0, 0), null);
      expect((await verifyBucket(mirror, store)).differences.length).toBeGreaterThan(1);
      await exportToBucket(mirror, store, { tables: ['assets'] });
      expect(visibleIn(store)).toEqual(before);
      expect(await verifyBucket(mirror, store)).toMatchObject({ equal: true });
    }
  });

  test('a copy is made once, even if its ETag is another one than that of the original', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    store.encrypts = true;
    await exportToBucket(mirror, store, { tables: ['assets'] });
    const again = await operationsOf(store, () => exportToBucket(mirror, store, { tables: ['assets'] }));
    expect(again.filter((each) => /^(write|copy|remove)/.test(each))).toEqual([]);
  });

  test('a server that ignores the conditions of writes is refused', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    const { write } = store;
    store.write = (path, bytes) => write(path, bytes, null);
    await expect(exportToBucket(mirror, store)).rejects.toMatchObject({ recovery: 'usage' });
  });

  test('old objects that cannot be removed are a warning, and the next export removes them', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    const options = { tables: ['assets'], keep: 0 };
    await exportToBucket(mirror, store, options);
    change(mirror);
    store.before = (operation) => {
      if (operation === 'remove') throw new SyncError('usage', 'denied');
    };
    const { warnings } = await exportToBucket(mirror, store, options);
    expect(warnings).toEqual(['old objects cannot be removed: denied']);
    store.before = () => {};
    expect(brokenObjects(store, { inFolders: true })).toEqual([]);
  });

  test('objects that are not of an export are refused without a manifest, and stay with one', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    await store.write('notes.txt', Buffer.from('x'), null);
    await expect(exportToBucket(mirror, store)).rejects.toMatchObject({ recovery: 'usage' });
    store.objects.clear();
    await exportToBucket(mirror, store, { tables: ['assets'] });
    const inner = 'assets/e1/inner/';
    const foreign = [
      'assets/',
      'assets/notes.txt',
      '/x',
      'n'.repeat(300),
      `${inner}manifest.json`,
      `${inner}part-0123456789abcdef.parquet`,
      `assets/${'n'.repeat(300)}/part-0123456789abcdef.parquet`,
      'assets/_delta_log/..',
    ];
    store.ageMs = 2 * DAY_MS;
    for (const path of foreign) await store.write(path, Buffer.from('x'), null);
    change(mirror);
    await exportToBucket(mirror, store, { tables: ['tests'] });
    expect(foreign.filter((path) => !store.objects.has(path))).toEqual([]);
  });

  test('the empty objects that stand for folders are left alone, and an object with content is not one of them', async () => {
    const [mirror, store, foreign] = [smallMirror(), createMemoryStore(), createMemoryStore()];
    for (const folder of ['', 'assets/']) await store.write(folder, Buffer.from(''), null);
    await exportToBucket(mirror, store, { tables: ['assets'] });
    await verifyBucket(mirror, store);
    expect(brokenObjects(store)).toEqual([]);
    expect([...store.objects.keys()]).toEqual(expect.arrayContaining(['', 'assets/', 'manifest.json']));
    await foreign.write('assets/', Buffer.from('content'), null);
    await expect(exportToBucket(mirror, foreign)).rejects.toThrow('contains objects that are not an export');
  });

  test('no name of an object reaches beyond the temporary folder', async () => {
    const [mirror, store, outside] = [smallMirror(), createMemoryStore(), folder()];
    await exportToBucket(mirror, store, { tables: ['assets'] });
    const victim = join(outside, 'victim');
    writeFileSync(victim, 'untouched');
    const up = relative(join(tmpdir(), 'obsync-bucket-xxxxxx'), victim);
    const paths = ['x/._delta_log.tmp', 'assets/_delta_log', 'assets/e1', '.files/assets'].flatMap((inside) => [
      `${inside}/${'../'.repeat(inside.split('/').length)}${up}`,
      `${inside}/${victim}`,
    ]);
    for (const path of [...paths, up]) await store.write(path, Buffer.from('overwritten'), null);
    await exportToBucket(mirror, store, { tables: ['assets'] });
    await verifyBucket(mirror, store);
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
  });

  test('it leaves no temporary folder, even if it fails', async () => {
    const folders = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('obsync-bucket-'));
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    const before = folders();
    await exportToBucket(mirror, store, { tables: ['assets'] });
    store.before = (operation) => {
      if (operation === 'read') throw new Error('lost');
    };
    await expect(exportToBucket(mirror, store)).rejects.toThrow('lost');
    expect(folders()).toEqual(before);
  });
});

test('few enough objects are in memory at a time to hold them, however many there are', () => {
  const small = Array<number>(200_000).fill(1);
  expect([concurrencyOf([]), concurrencyOf(small)]).toEqual([8, 8]);
  expect([concurrencyOf([...small, 20 * 2 ** 20]), concurrencyOf([2 ** 40])]).toEqual([3, 1]);
});

describe('the address of an export', () => {
  test('is a bucket and a prefix, or a folder', () => {
    expect(bucketAddress('lake')).toBeNull();
    expect(bucketAddress('C:\\lake')).toBeNull();
    expect(bucketAddress('s3://bucket')).toEqual({ bucket: 'bucket', prefix: '' });
    expect(bucketAddress('S3://bucket/a/b c/')).toEqual({ bucket: 'bucket', prefix: 'a/b c/' });
  });

  test.each(['s3://', 's3:///a', 's3://bucket//a', 's3://bucket/../a', 'gs://bucket/a', 'https://host/a'])(
    'is refused if no store can have it: %s',
    (to) => {
      expect(() => bucketAddress(to)).toThrow(expect.objectContaining({ recovery: 'usage' }));
    },
  );
});
