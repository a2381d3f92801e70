import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allDocuments, type Block, blocksOf, blocksUnder, readDocument } from '../docs/documents.ts';
import { CONSUMERS, followReadme, isShell, type Newcomer, PYTHON } from '../docs/run-blocks.ts';
import { CLIENT_GENERATORS } from './generated-clients.ts';
import { VENV } from './places.ts';

const isPython = ({ language }: Block): boolean => language === PYTHON;

const documents = allDocuments()
  .map((document) => [document.path, blocksOf(document)] as const)
  .filter(([, blocks]) => blocks.some(isPython));

test('docs/serve.md has a block for each tool that the tests of the API and the metrics run, and no others', () => {
  const { text } = readDocument('docs/serve.md');
  const sections = [...CLIENT_GENERATORS.map(({ title }) => title), 'schemathesis', 'Prometheus and Alertmanager'];
  const forTools = (blocks: readonly Block[]): number => blocks.filter(({ language }) => language === CONSUMERS).length;
  expect(sections.map((title) => forTools(blocksUnder({ text }, title)))).toEqual(sections.map(() => 1));
  expect(forTools(allDocuments().flatMap(blocksOf))).toBe(sections.length);
});

describe('the Python blocks of the documents', () => {
  let newcomer: Newcomer;
  beforeAll(async () => {
    newcomer = await followReadme(join(VENV, 'bin'));
  });
  afterAll(() => newcomer.end());

  test.each(documents)('the blocks of %s run in sequence, with its shell blocks', async (_, blocks) => {
    const { code, said } = await newcomer.follow(blocks.filter((block) => isShell(block) || isPython(block)));
    expect(code, said.slice(-3000)).toBe(0);
  });
});
