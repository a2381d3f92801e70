import { existsSync } from 'node:fs';
import { describe, test } from 'vitest';
import { changeMirror, makeAwkwardMirror, writeExpected } from './awkward-mirror.ts';
import { expectReads } from './consumer.ts';
import { JDBC_VERSIONS, jarOf } from './places.ts';

const mirror = makeAwkwardMirror();
changeMirror(mirror);
const expected = writeExpected(mirror);
mirror.connection.close();

describe('the mirror file', () => {
  test.each(['sqlite3', 'duckdb', 'datasette'])('%s reads every table and view as SQL does', async (tool) => {
    await expectReads('sqlite_file.py', expected, mirror.path, tool);
  });

  // A machine without a JDK leaves them out; the installation says so.
  for (const jar of JDBC_VERSIONS.map(jarOf).filter(existsSync))
    test(`${jar.split('/').at(-1)} reads every table and view as SQL does`, async () => {
      await expectReads('sqlite_file.py', expected, mirror.path, 'jdbc', jar);
    });
});
