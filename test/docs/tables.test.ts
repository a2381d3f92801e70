import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getTableColumns, getTableName, is } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { afterAll, describe, expect, test } from 'vitest';
import * as syncTables from '../../schema/sync.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { codeIn, nameIn, ROOT, readDocument, rowsOf, sectionOf, sectionsOf } from './documents.ts';

const DICTIONARY = readDocument('docs/tables-and-views.md');

const folder = mkdtempSync(join(tmpdir(), 'obsync-docs-'));
const mirror = openForWriting(join(folder, 'mirror.db'));
afterAll(() => {
  mirror.connection.close();
  rmSync(folder, { recursive: true });
});

interface Column {
  readonly name: string;
  readonly type: string;
  /** Its place in the key; 0 when it is not part of it. */
  readonly pk: number;
}

const columnsOf = (name: string): Column[] =>
  mirror.connection.prepare('select name, type, pk from pragma_table_xinfo(?)').all(name) as Column[];

const namesOf = (type: 'table' | 'view'): string[] =>
  mirror.connection
    .prepare("select name from sqlite_master where type = ? and name not like 'sqlite%' order by name")
    .pluck()
    .all(type) as string[];

const isStaged = (name: string): boolean => name.endsWith('_staged');
/** The log of migrations belongs to drizzle. */
const isOurs = (name: string): boolean => !name.startsWith('__');

const documented = sectionsOf(DICTIONARY, 3).filter((section) => rowsOf(section).length > 0);
const documentedNames = documented.map(({ title }) => title).sort();

const meanings = Map.groupBy(documented.flatMap(rowsOf), ([name]) => nameIn(name));

/** What a column means wherever there is one of this name; nothing where tables differ in it. */
function meaningOf(name: string): string {
  const [meaning = '', ...others] = new Set(meanings.get(name)?.map((row) => row.at(-1)));
  return others.length === 0 ? meaning : '';
}

/** The section of a table that has none yet: it lacks a sentence, and the meanings of columns that no other table has. */
function sectionToFill(name: string): string {
  const key = columnsOf(name)
    .filter(({ pk }) => pk > 0)
    .sort((a, b) => a.pk - b.pk);
  const rows = columnsOf(name).map((column) => `| \`${column.name}\` | ${column.type} | ${meaningOf(column.name)} |`);
  const keys = key.map((column) => `\`${column.name}\``).join(', ');
  return [`### ${name}`, '', `Key: ${keys}.`, '', '| column | type | meaning |', '|---|---|---|', ...rows, ''].join(
    '\n',
  );
}

describe('docs/tables-and-views.md', () => {
  test('has a section for every table and view of a mirror, and for no other', () => {
    const names = [...namesOf('table').filter((name) => isOurs(name) && !isStaged(name)), ...namesOf('view')];
    const missing = names.filter((name) => !documentedNames.includes(name));
    expect(documentedNames, missing.map(sectionToFill).join('\n')).toEqual(names.sort());
  });

  test.each(documented.map(({ title }) => title))('has every column of %s in its order, and no other', (title) => {
    const isView = namesOf('view').includes(title);
    const rows = rowsOf(sectionOf(DICTIONARY, title));
    const [columns, types] = [rows.map(([name]) => nameIn(name)), rows.map(([, type]) => type)];
    expect(columns).toEqual(columnsOf(title).map(({ name }) => name));
    if (!isView) expect(types).toEqual(columnsOf(title).map(({ type }) => type));
    for (const row of rows) expect(row.at(-1)).toMatch(/\S/);
  });

  test.each(namesOf('table').filter((name) => isOurs(name) && !isStaged(name)))('names the key of %s', (title) => {
    const [, key = ''] = /^Key: (.*)\.$/m.exec(sectionOf(DICTIONARY, title).text) ?? [];
    const parts = columnsOf(title).filter(({ pk }) => pk > 0);
    expect(codeIn(key)).toEqual(parts.sort((a, b) => a.pk - b.pk).map(({ name }) => name));
  });

  test('names every staged table, and what they have beyond their tables', () => {
    const { text } = sectionOf(DICTIONARY, 'Staged tables');
    const [more, less] = ['read_number', 'mirrored_at'];
    const staged = namesOf('table').filter(isStaged);
    expect(codeIn(text)).toEqual([...staged.sort(byPlaceIn(text)), less, more]);
    for (const name of staged) {
      const own = columnsOf(name.replace(/_staged$/, '')).map((column) => column.name);
      expect(columnsOf(name).map((column) => column.name)).toEqual(
        expect.arrayContaining([...own.filter((column) => column !== less), more]),
      );
      expect(columnsOf(name)).toHaveLength(own.length);
    }
  });

  test('names every value that a column of the run log may have', () => {
    for (const table of Object.values(syncTables).filter((each) => is(each, SQLiteTable)))
      for (const { name, enumValues } of Object.values(getTableColumns(table))) {
        if (enumValues === undefined || enumValues.length === 0) continue;
        const rows = rowsOf(sectionOf(DICTIONARY, getTableName(table)));
        const meaning = rows.find(([column]) => column === `\`${name}\``)?.at(-1) ?? '';
        expect(codeIn(meaning)).toEqual(expect.arrayContaining([...enumValues]));
      }
  });
});

describe('the metrics', () => {
  test.each(rowsOf(sectionOf(DICTIONARY, 'Metrics')))(
    'are expressions that their views can answer: %s',
    (_, view, expression) => {
      const sql = `select ${nameIn(expression)} from ${nameIn(view)} group by env_id`;
      expect(mirror.connection.prepare(sql).all()).toEqual([]);
    },
  );

  test('are there for what dashboards show', () => {
    const names = rowsOf(sectionOf(DICTIONARY, 'Metrics')).map(([name]) => name);
    expect(names).toEqual(['pass rate', 'coverage', 'mean time to resolve', 'freshness', 'health']);
  });
});

describe('the reasons', () => {
  const program = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(ROOT, 'src', name), 'utf8'))
    .join('\n');
  const documented = rowsOf(sectionOf(DICTIONARY, 'Reasons')).flatMap(([reasons = '']) => codeIn(reasons));

  test('for a round are all documented', () => {
    const [, union = ''] = /^export type RoundReason =((?:\s*\|.*\n)+)/m.exec(program) ?? [];
    const reasons = [...union.matchAll(/\| '([^']+)'/g)].map(([, reason]) => reason);
    expect(reasons.length).toBeGreaterThan(5);
    expect(documented).toEqual(expect.arrayContaining(reasons));
  });

  test.each(documented)('that are documented exist: %s', (reason) => {
    expect(program).toContain(`'${reason}'`);
  });
});

function byPlaceIn(text: string): (a: string, b: string) => number {
  return (a, b) => text.indexOf(`\`${a}\``) - text.indexOf(`\`${b}\``);
}
