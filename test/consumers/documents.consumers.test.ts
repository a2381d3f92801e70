import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allDocuments, type Block, blocksOf, blocksUnder, readDocument } from '../docs/documents.ts';
import { COMMANDS, CONSUMERS, FOREGROUND, followReadme, isShell, type Newcomer, PYTHON } from '../docs/run-blocks.ts';
import { CLIENT_GENERATORS } from './generated-clients.ts';
import { DELTA_JARS, VENV } from './places.ts';

const hasSpark = DELTA_JARS.every((jar) => existsSync(jar));

/** Whether the block is for a program that is installed here. */
const isForProgram = ({ language, text }: Block): boolean =>
  [PYTHON, COMMANDS].includes(language) && (hasSpark || !text.includes('pyspark'));

/** Spark finds its packages on this machine, and leaves no files outside the folder. */
const SPARK: Block = {
  language: FOREGROUND,
  text: `export SPARK_LOCAL_IP=127.0.0.1
PYSPARK_SUBMIT_ARGS="--jars ${DELTA_JARS.join()} --conf spark.ui.enabled=false --conf spark.local.dir=$PWD"
export PYSPARK_SUBMIT_ARGS="$PYSPARK_SUBMIT_ARGS --driver-java-options -Djava.io.tmpdir=$PWD pyspark-shell"
`,
};

const documents = allDocuments()
  .map((document) => [document.path, blocksOf(document)] as const)
  .filter(([, blocks]) => blocks.some(isForProgram));

test('each tool that the tests of the API, the metrics and object storage run has a block in the documents, and there are no others', () => {
  const ofServe = [...CLIENT_GENERATORS.map(({ title }) => title), 'schemathesis', 'Prometheus and Alertmanager'];
  const sections = [...ofServe.map((title) => ['docs/serve.md', title]), ['docs/export.md', 'Object storage']] as const;
  const forTools = (blocks: readonly Block[]): number => blocks.filter(({ language }) => language === CONSUMERS).length;
  const counts = sections.map(([path, title]) => forTools(blocksUnder(readDocument(path), title)));
  expect(counts).toEqual(sections.map(() => 1));
  expect(forTools(allDocuments().flatMap(blocksOf))).toBe(sections.length);
});

describe('the blocks of the documents that run other programs', () => {
  let newcomer: Newcomer;
  beforeAll(async () => {
    newcomer = await followReadme(join(VENV, 'bin'));
  });
  afterAll(() => newcomer.end());

  test.each(documents)('the blocks of %s run in sequence, with its shell blocks', async (_, blocks) => {
    const run = blocks.filter((block) => isShell(block) || isForProgram(block));
    const { code, said } = await newcomer.follow([SPARK, ...run]);
    expect(code, said.slice(-3000)).toBe(0);
  });
});
