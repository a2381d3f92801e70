import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DICTIONARY } from '../../schema/dictionary.ts';
import type { DescribedTable } from '../../schema/table.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { EXPORT_RELATIONS } from '../../src/export/relation.ts';
import { addRun, fillMirror, folder, insert, makeMirror, mirroredAt } from '../export/setup.ts';

/** A number, a name that is cut or decoded where it is taken for a path, and a plain one. */
export const ENVS = ['007', 'a b/c#d?e=%41&ü', 'prod.eu'];

const HARD_TEXT = '\u0001 \u2028 ä€😀 \\u0041 \t';

const EMPTY_AT_FIRST = ['column_lineage', 'test_executions', 'asset_health_score_history'];

/** A mirror whose names, texts and numbers are hard on a reader, and with tables and views without rows. */
export function makeAwkwardMirror(): MirrorFile {
  return makeMirror((mirror) => {
    fillEnvironments(mirror, ENVS);
    for (const table of EMPTY_AT_FIRST) mirror.connection.exec(`delete from ${table}`);
    insert(mirror, 'assets', {
      env_id: '007',
      id: '%2F?&=#"o\'brien"\\',
      name: ' x ',
      kind: 'new kind',
      source_type: 'dbt',
      description: HARD_TEXT,
      tags: '["a,b", "\\"quoted\\"\\n\\t", "\u{10ffff}"]',
      owners: '[{"name":"Ann","email":"ann@x.org"},"bob"]',
      extra: '{"a":{"b":[1,2.5,null,true]}}',
      updated_at: '9999-12-31T23:59:59.999999Z',
    });
  });
}

function fillEnvironments(mirror: MirrorFile, envs: string[]): void {
  fillMirror(mirror, { envs });
  // The API shows only tests with every required field.
  mirror.connection.exec(
    "update tests set name = coalesce(name, ''), test_type = 'a', definition_type = 'b', severity = 'c', source_type = 'd'",
  );
  // Every other asset has its details.
  const { connection } = mirror;
  connection
    .prepare(
      `update assets set data_platform = ?, db_name = '', schema_name = ' ', table_name = name, materialization = 'x'
        where kind = 'table' and id glob '*[02468]'`,
    )
    .run(HARD_TEXT);
  connection
    .prepare("update assets set bi_platform = ?, bi_type = '', url = 'x?a=b&c=%20' where kind = 'bi' and id glob '*0'")
    .run(HARD_TEXT);
  // A count beyond 32 bits, the largest one that JavaScript reads exactly, and numbers that need all their digits.
  for (const table of ['test_executions', 'latest_test_executions']) {
    const change = connection.prepare(`update ${table} set failure_count = ?, duration_seconds = ? where id = ?`);
    for (const run of ['run-1', 'run-361']) change.run(3_000_000_000, 98_765.432_101_234_58, run);
    for (const run of ['run-4', 'run-364']) change.run(Number.MAX_SAFE_INTEGER, 0.1 + 0.2, run);
    for (const run of ['run-7', 'run-367']) change.run(0, 1e-7, run);
  }
}

/** Changes, adds and deletes rows, and fills the tables that were empty, as a later sync may do. */
export function changeMirror(mirror: MirrorFile): void {
  changeAssets(mirror, 'changed', 5);
  mirror.connection.transaction(() => {
    mirror.connection.exec("delete from tests where id like '%9'");
    fillEnvironments(mirror, ['new 1e3']);
  })();
}

/** Describes some assets anew, in the `n`th run. */
export function changeAssets(mirror: MirrorFile, description: string, n: number): void {
  addRun(mirror, n);
  mirror.connection
    .prepare("update assets set description = ?, mirrored_at = ? where id like '%7' or env_id = ?")
    .run(description, mirroredAt(n), ENVS[0]);
  mirror.connection.prepare('update mirror_environments set mirrored_at = ?').run(mirroredAt(n));
}

/** The mirrored tables and the views, without the state of obsync, which differs by database. */
export const EXPORTED = EXPORT_RELATIONS.map(({ described }) => described);

/** Writes what `mirror.py` compares with: tables and views with their columns and rows. @returns the path */
export function writeExpected({ connection }: MirrorFile, described: readonly DescribedTable[] = DICTIONARY): string {
  const relations = described.map((each) => {
    const columns = each.columns.map(({ name }) => `"${name}"`).join(', ');
    return { ...each, rows: connection.prepare(`select ${columns} from "${each.name}"`).raw().all() };
  });
  const path = join(folder(), 'expected.json');
  writeFileSync(path, JSON.stringify(relations));
  return path;
}
