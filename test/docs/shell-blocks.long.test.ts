import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assets, environments } from '../../schema/assets.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { SERVE_TOKEN, type Serving, serving } from '../cli/serving.ts';
import { folder, MAIN, mirrorFile, NODE } from '../cli/setup.ts';
import { allDocuments, type Block, blocksOf, readDocument } from './documents.ts';

/** The placeholders in the documents for the service, the token and the address of `obsync serve`. */
const [SERVICE, SERVICE_TOKEN, SERVED] = ['https://observability.example.com', 'your-token', '127.0.0.1:8484'];

/** How a block is run: in sequence, or in the background until the document ends. Other languages are only shown. */
const [FOREGROUND, BACKGROUND] = ['sh', 'sh background'];

const isShell = ({ language }: Block): boolean => language.startsWith('sh');

const documents = allDocuments().map((document) => ({ ...document, blocks: blocksOf(document).filter(isShell) }));
const allBlocks = documents.flatMap(({ path, blocks }) => blocks.map(({ language }) => [path, language] as const));
const inDocs = documents
  .filter(({ path, blocks }) => path !== 'README.md' && blocks.length > 0)
  .map(({ path, blocks }) => [path, blocks] as const);

/** The folder after following the README: other documents continue from there. */
const readme = folder();
let ranReadme: Ran | undefined;
let service: Serving | undefined;

beforeAll(async () => {
  service = await serving(['--db', mirrorFile(fillService), '--rate-limit', 'off'], { whenDone: () => {} });
  mkdirSync(join(readme, 'bin'));
  writeFileSync(join(readme, 'bin/npx'), NPX);
  chmodSync(join(readme, 'bin/npx'), 0o755);
  ranReadme = await run(blocksOf(readDocument('README.md')), readme, {});
});

afterAll(async () => {
  service?.kill('SIGKILL');
  await service?.ended;
});

/** An environment with obsync, but without network access. */
const NPX = `#!/bin/sh
[ "$1" = obsync ] || exit 127
shift
exec '${NODE}' '${MAIN}' "$@"
`;

function fillService({ db }: MirrorFile): void {
  const row = { env_id: 'e1', mirrored_at: '2026-11-20T04:10:00.000000Z' };
  db.insert(environments).values({ id: 'e1', name: 'Production', mirrored_at: row.mirrored_at }).run();
  for (const id of ['orders', 'dash'])
    db.insert(assets)
      .values({ ...row, id, name: id, kind: 'other', source_type: 'dbt' })
      .run();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** The blocks of one document as one script that reports its progress on stderr. */
function scriptOf(blocks: readonly Block[], port: number): string {
  const commands = blocks.map(({ language, text }, i) => {
    const run = language === BACKGROUND ? inBackground(text, `served-${i}`) : text;
    return `echo "--- block ${i + 1}" >&2\n${run}`;
  });
  return ['set -euo pipefail', ...commands]
    .join('\n')
    .replaceAll(SERVICE, service?.url ?? '')
    .replaceAll(SERVICE_TOKEN, SERVE_TOKEN)
    .replaceAll(SERVED, `127.0.0.1:${port}`);
}

/** Started in the background; the script waits for its first line. */
const inBackground = (text: string, pipe: string): string =>
  `mkfifo ${pipe}\n{ ${text.trim()}\n} > ${pipe} &\nread -r < ${pipe}\n`;

interface Ran {
  readonly code: number | null;
  /** Its stdout and stderr. */
  readonly said: string;
  /** Its stdout. */
  readonly printed: string;
}

/** Runs the blocks of a document as a person would, and stops what they leave running. */
async function run(blocks: readonly Block[], cwd: string, env: Readonly<Record<string, string>>): Promise<Ran> {
  const port = await freePort();
  const shell = spawn('bash', ['-c', scriptOf(blocks.filter(isShell), port)], {
    cwd,
    env: { PATH: `${join(cwd, 'bin')}:${process.env['PATH']}`, HOME: cwd, OBSYNC_PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let said = '';
  let printed = '';
  shell.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  for (const stream of [shell.stdout, shell.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
    });
  const [code] = await once(shell, 'exit');
  endGroup(shell);
  return { code, said, printed };
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // None of its processes is running any more.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Undoes line wrapping: a number with more digits may wrap a line elsewhere. */
const withoutNumbers = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll(/\d[\d.]*/g, '0');

describe('the shell blocks of the documents', () => {
  test.each(allBlocks)('every block of %s says how it is run: %s', (_, language) => {
    expect([FOREGROUND, BACKGROUND]).toContain(language);
  });

  test('the blocks of the README run', () => {
    expect(ranReadme?.code, ranReadme?.said.slice(-3000)).toBe(0);
  });

  test('the output of the README’s blocks matches what it shows, except for numbers and rows', () => {
    const shown = blocksOf(readDocument('README.md')).find(({ text }) => text.includes('Syncing')) ?? { text: '' };
    const [beforeTable = ''] = shown.text.split(/^[┌│├└]/m);
    expect(beforeTable.split('\n').length).toBeGreaterThan(10);
    expect(withoutNumbers(ranReadme?.printed ?? '')).toContain(withoutNumbers(beforeTable));
  });

  test.each(inDocs)('the blocks of %s run in sequence', async (_, blocks) => {
    const { code, said } = await runAfterReadme(blocks);
    expect(code, said.slice(-3000)).toBe(0);
  });

  test('the block that deletes old rows keeps what other readers need', async () => {
    const blocks = blocksOf(readDocument('docs/operations.md')).filter(({ text }) => text.includes('delete from'));
    expect(blocks).toHaveLength(1);
    const { cwd } = await runAfterReadme(blocks);
    expect(['-wal', '-shm'].map((end) => existsSync(join(cwd, `obsync.db${end}`)))).toEqual([true, true]);
  });
});

/** Runs blocks in a separate folder in which the README's have run. */
async function runAfterReadme(blocks: readonly Block[]): Promise<Ran & { readonly cwd: string }> {
  const cwd = folder();
  cpSync(readme, cwd, { recursive: true, filter: (path) => !lstatSync(path).isFIFO() });
  return { cwd, ...(await run(blocks, cwd, { OBSYNC_BASE_URL: service?.url ?? '', OBSYNC_TOKEN: SERVE_TOKEN })) };
}
