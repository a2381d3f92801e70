import { describe, expect, test } from 'vitest';
import { brokenObjects, change, contentOf, copyOf, manifestOf, operationsOf, smallMirror } from './bucket-setup.ts';
import { SOME } from './faults.ts';
import { createMemoryStore } from './memory-store.ts';
import { exportToBucket } from './setup.ts';

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
        let count = 0;
        copy.before = () => {
          count += 1;
          if (count >= n) throw new Error('killed');
        };
        await expect(exportToBucket(mirror, copy, options)).rejects.toThrow('killed');
        instants.add(manifestOf(copy).instant);
        expect(brokenObjects(copy)).toEqual([]);
        copy.before = () => {};
        await exportToBucket(mirror, copy, options);
        expect(brokenObjects(copy, { inFolders: format !== 'delta' })).toEqual([]);
        if (format === 'parquet') expect(contentOf(copy)).toMatchObject(contentOf(all));
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
      let count = 0;
      copy.before = async () => {
        count += 1;
        if (count === n) await exportToBucket(mirror, copy, { tables: ['assets', 'tests'] });
      };
      const result = await exportToBucket(mirror, copy, { tables: SOME }).catch((error: Error) => error.message);
      expect(brokenObjects(copy)).toEqual([]);
      // The first request lists what is there: both exports then follow each other.
      if (n > 1 && n < operations.length)
        expect(result).toMatch(/wrote s3:\/\/bucket\/lake\/manifest.json at the same time/);
    }
  });
});
