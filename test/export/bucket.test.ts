import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type VerifyExportReport, verifyExportOnce } from '../../src/api/compare-export.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { bucketAddress } from '../../src/export/bucket/bucket-address.ts';
import type { ObjectStore } from '../../src/export/bucket/object-store.ts';
import { EXPORT_FORMATS } from '../../src/export/formats.ts';
import {
  brokenObjects,
  change,
  contentOf,
  contentUnder,
  manifestOf,
  operationsOf,
  smallMirror,
} from './bucket-setup.ts';
import { SOME } from './faults.ts';
import { createMemoryStore } from './memory-store.ts';
import { exportOf, exportToBucket, folder } from './setup.ts';

const DAY_MS = 86_400_000;

const verifyBucket = (mirror: MirrorFile, store: ObjectStore): Promise<VerifyExportReport> =>
  verifyExportOnce({ db: mirror.path, against: store.url }, new AbortController().signal, async () => store);

describe('an export to object storage', () => {
  test.each(EXPORT_FORMATS)('writes the objects that an export to a folder writes as files: %s', async (format) => {
    const [mirror, store, to] = [smallMirror(), createMemoryStore(), folder()];
    for (let n = 1; n <= 4; n++) {
      // Commits have the time of the export in them.
      const options = { format, tables: SOME, views: n > 2 };
      const reports = [await exportOf(mirror, to, options), await exportToBucket(mirror, store, options)];
      expect({ ...reports[1], to }).toEqual(reports[0]);
      if (format === 'delta') expect(Object.keys(contentOf(store))).toEqual(Object.keys(contentUnder(to)));
      else expect(contentOf(store)).toEqual(contentUnder(to));
      change(mirror, n);
    }
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
    await exportToBucket(mirror, store, { tables: SOME });
    expect(await operationsOf(store, () => exportToBucket(mirror, store, { tables: SOME }))).toEqual([
      'list ',
      'read manifest.json',
      'read views.sql',
    ]);
    await exportToBucket(mirror, store, { format: 'delta', tables: ['assets'] });
    expect(
      await operationsOf(store, () => exportToBucket(mirror, store, { format: 'delta', tables: ['assets'] })),
    ).toEqual(['list ', 'read manifest.json', 'read views.sql', 'read assets/_delta_log/00000000000000000000.json']);
  });

  test('objects of a killed export stay for a day, as another export may be about to name them', async () => {
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
    const before = contentOf(store);
    const paths = [...store.objects.keys()].filter((path) => path.includes('assets/'));
    expect(paths).toHaveLength(4);
    for (const path of paths) {
      const { bytes } = store.objects.get(path) ?? { bytes: new Uint8Array() };
      store.ageMs -= 5000;
      await store.write(path, bytes.with(0, 0), null);
      const verified = await verifyBucket(mirror, store);
      expect(verified.differences.map((each) => each.path)).toContain(path);
      store.ageMs -= 5000;
      await exportToBucket(mirror, store, { tables: ['assets'] });
      expect(contentOf(store)).toEqual(before);
      expect(await verifyBucket(mirror, store)).toMatchObject({ equal: true });
      const again = await operationsOf(store, () => exportToBucket(mirror, store, { tables: ['assets'] }));
      expect(again).toEqual(['list ', 'read manifest.json', 'read views.sql']);
    }
  });

  test('objects that are not of an export are refused without a manifest, and stay with one', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    await store.write('../../etc/passwd', Buffer.from('x'), null);
    await expect(exportToBucket(mirror, store)).rejects.toMatchObject({ recovery: 'usage' });
    const other = createMemoryStore();
    await exportToBucket(mirror, other, { tables: ['assets'] });
    const foreign = ['../../etc/passwd', 'assets/', 'assets/notes.txt', '/x', `${'n'.repeat(300)}`];
    for (const path of foreign) await other.write(path, Buffer.from('x'), null);
    change(mirror);
    await exportToBucket(mirror, other, { tables: ['tests'] });
    expect(foreign.filter((path) => !other.objects.has(path))).toEqual([]);
    expect(existsSync(join(tmpdir(), '../etc/passwd.x'))).toBe(false);
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
