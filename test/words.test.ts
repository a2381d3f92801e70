import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

const sources = globSync('{schema,src,state}/**/*.ts', { cwd: ROOT })
  .sort()
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

interface Definition {
  readonly name: string;
  readonly path: string;
}

const definitions = (pattern: RegExp): Definition[] =>
  sources.flatMap(({ path, text }) => [...text.matchAll(pattern)].map(([, name]) => ({ name: String(name), path })));

/** The names that are defined twice, each with its files. */
const definedTwice = (found: readonly Definition[]): string[] =>
  [...Map.groupBy(found, ({ name }) => name)]
    .filter(([, each]) => each.length > 1)
    .map(([name, each]) => `${name}: ${each.map(({ path }) => path).join(', ')}`)
    .sort();

const types = definitions(/^(?:export )?(?:type|interface|class) (\w+)/gm);

/** The tables of PostgreSQL and the streams are called as the tables of `schema`. */
const TWINS = /^\w+: schema\/[\w-]+\.ts, src\/streams\/[\w-]+\.ts$/;

/** Each means the same in two dialects; `list` is SQL in the engine, and a kind of field in its streams. */
const PAIRS = [
  'SQLITE: src/bi/dialect.ts, src/destination/sqlite/driver.ts',
  'list: src/destination/sql/tables.ts, src/streams/fields.ts',
  'text: schema/column-types.ts, schema/postgres-columns.ts',
];

const glossary = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8').toLowerCase();

describe('one word for one thing', () => {
  test('no type name is defined twice', () => {
    expect(definedTwice(types)).toEqual([]);
  });

  test('no exported value has the name of another', () => {
    const values = definitions(/^export (?:async )?(?:function\*?|const|class) (\w+)/gm);
    const twice = definedTwice(values.filter(({ path }) => path !== 'schema/postgres.ts'));
    expect(twice.filter((each) => !TWINS.test(each))).toEqual(PAIRS);
  });

  test('a type name of one word is in the glossary', () => {
    const oneWord = types.filter(({ name }) => /^[A-Z][a-z]+$/.test(name));
    const unexplained = oneWord.filter(({ name }) => !glossary.includes(`| ${name.toLowerCase()} |`));
    expect(unexplained.map(({ name, path }) => `${name} (${path})`)).toEqual([]);
  });
});
