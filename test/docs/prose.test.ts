import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allDocuments, blocksOf, codeIn, ROOT, readDocument, rowsOf, sectionOf } from './documents.ts';

const WIDTH = 120;

const documents = allDocuments();

test.each(documents.map(({ path, text }) => [path, text] as const))(
  'the prose of %s wraps at 120 columns',
  (_, text) => {
    const blocks = blocksOf({ text }).flatMap((block) => block.text.split('\n'));
    const prose = text.split('\n').filter((line) => !/^\s*\|/.test(line) && !blocks.includes(line));
    expect(prose.filter((line) => line.length > WIDTH)).toEqual([]);
  },
);

test('comments wrap at 120 columns', () => {
  const patterns = ['*.{ts,mjs}', '{bench,examples,schema,src,state,test}/**/*.{ts,mjs}'];
  const paths = globSync(patterns, { cwd: ROOT });
  const tooWide = paths.flatMap((path) => {
    const lines = readFileSync(join(ROOT, path), 'utf8').split('\n');
    return lines
      .filter((line) => /^\s*(\/[/*]|\*)/.test(line) && line.length > WIDTH)
      .map((line) => `${path}: ${line}`);
  });
  expect(paths).toContain('src/core/alerts/alert.ts');
  expect(tooWide).toEqual([]);
});

const folders = (path: string): string[] =>
  readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(path, name));

const destinations = folders('src/destination').filter((path) => existsSync(join(ROOT, path, 'store.ts')));

describe('docs/architecture.md', () => {
  test('it has a row for every folder of the program', () => {
    const rows = rowsOf(sectionOf(readDocument('docs/architecture.md'), 'Folders'));
    const named = rows.flatMap(([folder = '']) => codeIn(folder));
    expect(named).toEqual(
      expect.arrayContaining([...folders('src'), ...folders('src/destination'), 'schema', 'state']),
    );
  });
});

describe('docs/glossary.md', () => {
  test('it has every destination', () => {
    const [, meaning = ''] = rowsOf(readDocument('docs/glossary.md')).find(([word]) => word === 'destination') ?? [];
    const missing = destinations.filter((path) => !meaning.toLowerCase().includes(path.split('/').at(-1) as string));
    expect(destinations.length).toBeGreaterThan(1);
    expect(missing).toEqual([]);
  });
});

describe('the versions that the documents require', () => {
  test('the Node versions are those of package.json', () => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const required = documents.flatMap(({ text }) =>
      [...text.matchAll(/Node\b[^.]{0,60}\b(\d+\.\d+) or\s+later/g)].map(([, node]) => node),
    );
    expect(required.length).toBeGreaterThan(0);
    expect([...new Set(required)]).toEqual([engines.node.replace('>=', '')]);
  });
});
