import { describe, expect, test } from 'vitest';
import { brokenObjects, copyOf, interposeAt, killAt, manifestOf, operationsOf, visibleIn } from './bucket-setup.ts';
import { SOME } from './faults.ts';
import { createMemoryStore, type MemoryStore } from './memory-store.ts';
import { change, type ExportChoice, exportToBucket, smallMirror } from './setup.ts';

const MEANWHILE = /at the same time|meanwhile/;

describe('an interrupted export to object storage', () => {
  test.each(['parquet', 'delta'] as const)(
    'a manifest names only whole objects, wherever an export is killed, and the next one repairs the rest: %s',
    async (format) => {
      const [mirror, store] = [smallMirror(), createMemoryStore()];
      const options = { tables: SOME, format };
      await exportToBucket(mirror, store, options);
      const before = manifestOf(store).instant;
      change(mirror);
      const all = copyOf(store);
      const operations = await operationsOf(all, () => exportToBucket(mirror, all, options));
      expect(operations.filter((each) => !/^(list|read)/.test(each)).length).toBeGreaterThan(7);
      const instants = new Set<string>();
      for (let n = 1; n <= operations.length; n++) {
        const copy = copyOf(store);
        killAt(copy, n);
        await expect(exportToBucket(mirror, copy, options)).rejects.toThrow('killed');
        instants.add(manifestOf(copy).instant);
        expect(brokenObjects(copy)).toEqual([]);
        copy.before = () => {};
        await exportToBucket(mirror, copy, options);
        expect(brokenObjects(copy, { inFolders: format !== 'delta' })).toEqual([]);
        const contents = (of: MemoryStore): string[] => Object.values(visibleIn(of)).sort();
        if (format === 'parquet') expect(contents(copy)).toEqual(contents(all));
      }
      expect(instants).toEqual(new Set([before, manifestOf(all).instant]));
    },
  );

  test('of two exports at the same time one fails, and the other is whole', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    await exportToBucket(mirror, store, { tables: SOME });
    change(mirror);
    const all = copyOf(store);
    const operations = await operationsOf(all, () => exportToBucket(mirror, all, { tables: SOME }));
    for (let n = 1; n <= operations.length; n++) {
      const copy = copyOf(store);
      interposeAt(copy, n, () => exportToBucket(mirror, copy, { tables: ['assets', 'tests'] }));
      const result = await exportToBucket(mirror, copy, { tables: SOME }).catch((error: Error) => error.message);
      expect(brokenObjects(copy)).toEqual([]);
      const written = operations.indexOf('write manifest.json') + 1;
      // The first request lists what is there: then one export follows the other.
      if (n > 1 && n <= written) expect(result).toMatch(MEANWHILE);
    }
  });

  test.each<[string, ExportChoice, ExportChoice]>([
    ['the other changes nothing while the first export as Delta writes', { format: 'delta' }, {}],
    ['the other writes tables again whose files the first is about to remove', { tables: ['tests'] }, {}],
    ['the other is as Delta and the first is the first one as Parquet', {}, { format: 'delta' }],
  ])('no object of a manifest is missing after two exports at the same time: %s', async (_, first, second) => {
    const mirror = smallMirror();
    const options = { tables: ['assets'], keep: 0 };
    for (const before of [first, second]) {
      const store = createMemoryStore();
      await exportToBucket(mirror, store, { ...options, ...before });
      const all = copyOf(store);
      const operations = await operationsOf(all, () => exportToBucket(mirror, all, { ...options, ...first }));
      for (let n = 1; n <= operations.length; n++) {
        const copy = copyOf(store);
        interposeAt(copy, n, () => exportToBucket(mirror, copy, { ...options, ...second }));
        await exportToBucket(mirror, copy, { ...options, ...first }).catch((error: unknown) => {
          expect(error).toMatchObject({ recovery: 'run', message: expect.stringMatching(MEANWHILE) });
        });
        expect(brokenObjects(copy)).toEqual([]);
      }
    }
  });

  test('a change of the format that was killed leaves nothing that a later export cannot read or remove', async () => {
    const [mirror, store] = [smallMirror(), createMemoryStore()];
    const options = { tables: ['assets'] };
    await exportToBucket(mirror, store, { ...options, format: 'delta' });
    change(mirror, 1);
    await exportToBucket(mirror, store, { ...options, format: 'delta' });
    const all = copyOf(store);
    const operations = await operationsOf(all, () => exportToBucket(mirror, all, options));
    for (let n = 1; n <= operations.length; n++) {
      const copy = copyOf(store);
      killAt(copy, n);
      await expect(exportToBucket(mirror, copy, options)).rejects.toThrow('killed');
      copy.before = () => {};
      const other = copyOf(copy);
      await exportToBucket(mirror, copy, options);
      expect([...copy.objects.keys()].filter((path) => path.includes('_delta_log'))).toEqual([]);
      await exportToBucket(mirror, other, { ...options, format: 'delta' });
      expect(brokenObjects(other)).toEqual([]);
    }
  });
});
