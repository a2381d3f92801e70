import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

/** Every type, interface and class of the program, with the file that defines it. */
const types = ['src', 'schema', 'state'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^(?:export )?(?:type|interface|class) (\w+)/gm)].map(
        ([, type]) => ({ type: String(type), path }),
      ),
    ),
);

const glossary = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8').toLowerCase();

describe('one word for one thing', () => {
  test('no type name is defined twice', () => {
    const twice = Object.entries(Object.groupBy(types, ({ type }) => type)).filter(([, each = []]) => each.length > 1);
    expect(twice.map(([type, each = []]) => `${type}: ${each.map(({ path }) => path).join(', ')}`)).toEqual([]);
  });

  test('a type name of one word is in the glossary', () => {
    const oneWord = types.filter(({ type }) => /^[A-Z][a-z]+$/.test(type));
    const unexplained = oneWord.filter(({ type }) => !glossary.includes(`| ${type.toLowerCase()} |`));
    expect(unexplained.map(({ type, path }) => `${type} (${path})`)).toEqual([]);
  });
});
