import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { versionsOf } from '../export/delta-setup.ts';
import { ALL_RELATIONS, exportOf, folder } from '../export/setup.ts';
import { changeAssets, changeMirror, makeAwkwardMirror, writeExpected } from './awkward-mirror.ts';
import { expectReads } from './consumer.ts';

/** More than ten commits, so there is a checkpoint. */
const LATER_EXPORTS = 11;

test('delta-rs and Polars read every version of each Delta table as the mirror was then', async () => {
  const [mirror, to] = [makeAwkwardMirror(), folder()];
  const exports: object[] = [];
  const exportAgain = async (): Promise<void> => {
    await exportOf(mirror, to, { format: 'delta', views: true, keep: LATER_EXPORTS + 2 });
    exports.push({ mirror: writeExpected(mirror), versions: versionsOf(to, ALL_RELATIONS) });
  };
  await exportAgain();
  changeMirror(mirror);
  for (let n = 10; n < 10 + LATER_EXPORTS; n++) {
    changeAssets(mirror, `change ${n}`, n);
    await exportAgain();
  }
  const versions = join(folder(), 'versions.json');
  writeFileSync(versions, JSON.stringify(exports));
  await expectReads('delta.py', writeExpected(mirror), to, versions);
  mirror.connection.close();
});
