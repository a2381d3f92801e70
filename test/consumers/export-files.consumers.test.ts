import { beforeAll, describe, test } from 'vitest';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { exportOf, folder } from '../export/setup.ts';
import { changeMirror, makeAwkwardMirror, writeExpected } from './awkward-mirror.ts';
import { expectReads } from './consumer.ts';

const READERS = {
  parquet: ['views_sql', 'duckdb', 'polars', 'pyarrow', 'pandas', 'chdb'],
  csv: ['views_sql', 'duckdb', 'polars', 'pyarrow', 'pandas'],
  ndjson: ['views_sql', 'duckdb', 'pandas'],
} as const;
const FORMATS = ['parquet', 'csv', 'ndjson'] as const;

const allReaders = FORMATS.flatMap((format) => READERS[format].map((reader) => ({ format, reader })));

describe.each(['first', 'second'])('after the %s export', (nth) => {
  const folders = { parquet: folder(), csv: folder(), ndjson: folder() };
  const exportAll = async (mirror: MirrorFile): Promise<void> => {
    for (const format of FORMATS) await exportOf(mirror, folders[format], { format, views: true });
  };
  let expected = '';

  beforeAll(async () => {
    const mirror = makeAwkwardMirror();
    await exportAll(mirror);
    if (nth === 'second') {
      changeMirror(mirror);
      await exportAll(mirror);
    }
    expected = writeExpected(mirror);
    mirror.connection.close();
  });

  test.each(allReaders)('$reader reads each table and view of $format as SQL does', async ({ format, reader }) => {
    await expectReads('export_files.py', expected, folders[format], format, reader, `${nth} export`);
  });
});
