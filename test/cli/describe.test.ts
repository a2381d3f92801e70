import { describe, expect, test } from 'vitest';
import type { TableDescription } from '../../src/api/describe.ts';
import { folder, mirrorFile, obsync, refusal } from './setup.ts';

async function described(...args: string[]): Promise<TableDescription[]> {
  const { code, stdout } = await obsync(['describe', '--json', ...args], { cwd: folder() });
  expect(code).toBe(0);
  return JSON.parse(stdout).tables;
}

describe('obsync describe', () => {
  test('it documents every table and view with every column and its type, without a mirror', async () => {
    const names: string[] = [];
    const columns: Record<string, [string, string][]> = {};
    mirrorFile(({ connection }) => {
      names.push(
        ...(connection
          .prepare(
            "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite%' and name not like '\\_\\_%' escape '\\' and name not like '%staged'",
          )
          .pluck()
          .all() as string[]),
      );
      for (const name of names)
        columns[name] = connection.prepare('select name, type from pragma_table_xinfo(?)').raw().all(name) as [
          string,
          string,
        ][];
    });
    const all = await described();
    expect(all.map(({ name }) => name).sort()).toEqual(names.sort());
    for (const { name, kind, meaning, columns: own } of all) {
      expect(own.map((column) => column.name)).toEqual(columns[name]?.map(([column]) => column));
      expect(own.map(({ type }) => type)).toEqual(columns[name]?.map(([, type]) => (kind === 'table' ? type : null)));
      for (const text of [meaning, ...own.map((column) => column.meaning)]) expect(text).toMatch(/^[^|]*\S/);
    }
  });

  test('it shows a single table with its columns, as text or as JSON', async () => {
    expect((await described('failing_tests')).map(({ name }) => name)).toEqual(['failing_tests']);
    const { code, stdout } = await obsync(['describe', 'assets'], { cwd: folder() });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^A row per asset of any kind.*\n\n {2}env_id \(TEXT\): /);
    expect(stdout).toContain('\n  deleted_at (TEXT): when the row was deleted; NULL while it is live\n');
  });

  test('it shows the metrics, and with a view those over the view', async () => {
    const line = /^ {2}coverage: avg\(case .* end\), from test_coverage: the part of all tables that have a test$/m;
    const all = (await obsync(['describe'], { cwd: folder() })).stdout;
    expect(all).toMatch(line);
    const { stdout } = await obsync(['describe', 'test_coverage'], { cwd: folder() });
    expect(stdout).toMatch(/\n\nMetrics\n {2}coverage: [^\n]+\n {2}column coverage: [^\n]+\n$/);
    expect((await obsync(['describe', 'assets'], { cwd: folder() })).stdout).not.toContain('Metrics');
  });

  test.each([
    ['assetz', /^obsync: there is no table or view assetz: did you mean assets\?\n$/],
    ['x', /^obsync: there is no table or view x: run `obsync describe` to see their names\n$/],
  ])('it refuses an unknown table: %s', async (name, line) => {
    expect(await obsync(['describe', name], { cwd: folder() })).toEqual(refusal(line));
  });
});
