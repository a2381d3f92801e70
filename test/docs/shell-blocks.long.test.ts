import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allDocuments, blocksOf, readDocument } from './documents.ts';
import { BACKGROUND, FOREGROUND, followReadme, isShell, type Newcomer } from './run-blocks.ts';

const documents = allDocuments().map((document) => ({ ...document, blocks: blocksOf(document).filter(isShell) }));
const allBlocks = documents.flatMap(({ path, blocks }) => blocks.map(({ language }) => [path, language] as const));
const inDocs = documents
  .filter(({ path, blocks }) => path !== 'README.md' && blocks.length > 0)
  .map(({ path, blocks }) => [path, blocks] as const);

let newcomer: Newcomer;
beforeAll(async () => {
  newcomer = await followReadme();
});
afterAll(() => newcomer.end());

/** Undoes line wrapping: a number with more digits may wrap a line elsewhere. */
const withoutNumbers = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll(/\d[\d.]*/g, '0');

describe('the shell blocks of the documents', () => {
  test.each(allBlocks)('every block of %s says how it is run: %s', (_, language) => {
    expect([FOREGROUND, BACKGROUND]).toContain(language);
  });

  test('the blocks of the README run', () => {
    expect(newcomer.readme.code, newcomer.readme.said.slice(-3000)).toBe(0);
  });

  test('the output of the README’s blocks matches what it shows, except for numbers and rows', () => {
    const shown = blocksOf(readDocument('README.md')).find(({ text }) => text.includes('Syncing')) ?? { text: '' };
    const [beforeTable = ''] = shown.text.split(/^[┌│├└]/m);
    expect(beforeTable.split('\n').length).toBeGreaterThan(10);
    expect(withoutNumbers(newcomer.readme.printed)).toContain(withoutNumbers(beforeTable));
  });

  test.each(inDocs)('the blocks of %s run in sequence', async (_, blocks) => {
    const { code, said } = await newcomer.follow(blocks);
    expect(code, said.slice(-3000)).toBe(0);
  });
});
