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

/** What the documents call the reader's service, the token, and where `obsync serve` answers. */
const [SERVICE, SERVICE_TOKEN, SERVED] = ['https://observability.example.com', 'your-token', '127.0.0.1:8484'];

/** How a block is run: one after the other, or until the document ends. All other languages are only shown. */
const [FOREGROUND, BACKGROUND] = ['sh', 'sh background'];

const isShell = ({ language }: Block): boolean => language.startsWith('sh');

const documents = allDocuments().map((document) => ({ ...document, blocks: blocksOf(document).filter(isShell) }));
const allBlocks = documents.flatMap(({ path, blocks }) => blocks.map(({ language }) => [path, language] as const));
const inDocs = documents
  .filter(({ path, blocks }) => path !== 'README.md' && blocks.length > 0)
  .map(({ path, blocks }) => [path, blocks] as const);

/** The folder of one who has done what the README says: other documents go on from there. */
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

/** Knows obsync, and nothing that is not on this machine. */
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

/** The blocks of one document as one script; it says on stderr where it is. */
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

/** Started, and waited for until its first line. */
const inBackground = (text: string, pipe: string): string =>
  `mkfifo ${pipe}\n{ ${text.trim()}\n} > ${pipe} &\nread -r < ${pipe}\n`;

interface Ran {
  readonly code: number | null;
  /** What it wrote to stdout and to stderr. */
  readonly said: string;
  /** What it wrote to stdout. */
  readonly printed: string;
}

/** Runs the blocks of a document as a person would; what they leave running is ended. */
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
    // Nothing of it runs any more.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Lines are folded by their width, so that a number of other length may fold them elsewhere. */
const withoutNumbers = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll(/\d[\d.]*/g, '0');

describe('every shell block of the documents', () => {
  test.each(allBlocks)('in %s says how it is run: %s', (_, language) => {
    expect([FOREGROUND, BACKGROUND]).toContain(language);
  });

  test('of the README runs', () => {
    expect(ranReadme?.code, ranReadme?.said.slice(-3000)).toBe(0);
  });

  test('of the README prints what the README shows, without a gap, numbers and rows aside', () => {
    const shown = blocksOf(readDocument('README.md')).find(({ text }) => text.includes('Syncing')) ?? { text: '' };
    const [beforeTable = ''] = shown.text.split(/^[┌│├└]/m);
    expect(beforeTable.split('\n').length).toBeGreaterThan(10);
    expect(withoutNumbers(ranReadme?.printed ?? '')).toContain(withoutNumbers(beforeTable));
  });

  test.each(inDocs)('of %s runs, one after the other', async (_, blocks) => {
    const { code, said } = await runAfterReadme(blocks);
    expect(code, said.slice(-3000)).toBe(0);
  });

  test('that deletes old rows leaves what readers of other users need', async () => {
    const blocks = blocksOf(readDocument('docs/operations.md')).filter(({ text }) => text.includes('delete from'));
    expect(blocks).toHaveLength(1);
    const { cwd } = await runAfterReadme(blocks);
    expect(['-wal', '-shm'].map((end) => existsSync(join(cwd, `obsync.db${end}`)))).toEqual([true, true]);
  });
});

/** Runs blocks in a folder of their own, in which the README's have run. */
async function runAfterReadme(blocks: readonly Block[]): Promise<Ran & { readonly cwd: string }> {
  const cwd = folder();
  cpSync(readme, cwd, { recursive: true, filter: (path) => !lstatSync(path).isFIFO() });
  return { cwd, ...(await run(blocks, cwd, { OBSYNC_BASE_URL: service?.url ?? '', OBSYNC_TOKEN: SERVE_TOKEN })) };
}
