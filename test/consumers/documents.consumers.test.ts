import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allDocuments, type Block, blocksOf } from '../docs/documents.ts';
import { followReadme, isShell, type Newcomer, PYTHON } from '../docs/run-blocks.ts';
import { VENV } from './places.ts';

const isPython = ({ language }: Block): boolean => language === PYTHON;

const documents = allDocuments()
  .map((document) => [document.path, blocksOf(document)] as const)
  .filter(([, blocks]) => blocks.some(isPython));

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
