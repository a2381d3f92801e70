import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { assets, environments } from '../../schema/assets.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { SERVE_TOKEN, type Serving, serving } from '../cli/serving.ts';
import { folder, MAIN, mirrorFile, NODE } from '../cli/setup.ts';
import { type Block, blocksOf, readDocument } from './documents.ts';

/** The placeholders in the documents for the service and its token. */
const [SERVICE, SERVICE_TOKEN] = ['https://observability.example.com', 'your-token'];

/** The address of `obsync serve` in the documents. */
export const SERVED = '127.0.0.1:8484';

/**
 * How a block is run: in sequence, or in the background until the document ends. Where the programs that read a mirror
 * are installed, so are Python and the commands of these programs. Other languages are only shown.
 */
export const [FOREGROUND, BACKGROUND, PYTHON, COMMANDS] = ['sh', 'sh background', 'python', 'bash'];

/** Blocks that need other programs or servers, which only `npm run test:consumers` has. */
export const [CONSUMERS, PYTHON_CONSUMERS] = ['sh consumers', 'python consumers'];

export const isShell = ({ language }: Block): boolean => language.startsWith('sh') && language !== CONSUMERS;

/** What the blocks of a document printed. */
interface BlocksRun {
  readonly code: number | null;
  /** Its stdout and stderr. */
  readonly said: string;
  /** Its stdout. */
  readonly printed: string;
  /** The folder in which they ran. */
  readonly cwd: string;
}

/** A service, and a folder after following the README: other documents continue from there. */
export interface Newcomer {
  readonly readme: BlocksRun;
  /** Runs blocks of a document in a copy of the folder. */
  follow(blocks: readonly Block[]): Promise<BlocksRun>;
  end(): Promise<void>;
}

/** Follows the README. `programs` is a folder with other programs that the documents run. */
export async function followReadme(programs = ''): Promise<Newcomer> {
  const service = await serving(['--db', mirrorFile(fillService), '--rate-limit', 'off'], { whenDone: () => {} });
  const cwd = folder();
  mkdirSync(join(cwd, 'bin'));
  writeFileSync(join(cwd, 'bin/npx'), NPX);
  chmodSync(join(cwd, 'bin/npx'), 0o755);
  const place = { service, programs, cwd };
  const readme = await runBlocks(blocksOf(readDocument('README.md')).filter(isShell), place, {});
  return {
    readme,
    follow(blocks) {
      const copy = folder();
      cpSync(cwd, copy, { recursive: true, filter: (path) => !lstatSync(path).isFIFO() });
      const env = { OBSYNC_BASE_URL: service.url, OBSYNC_TOKEN: SERVE_TOKEN };
      return runBlocks(blocks, { ...place, cwd: copy }, env);
    },
    async end() {
      service.kill('SIGKILL');
      await service.ended;
    },
  };
}

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

interface BlocksPlace {
  readonly service: Serving;
  readonly programs: string;
  readonly cwd: string;
}

/** Runs the blocks of a document as a person would, and stops what they leave running. */
async function runBlocks(
  blocks: readonly Block[],
  { service, programs, cwd }: BlocksPlace,
  env: Readonly<Record<string, string>>,
): Promise<BlocksRun> {
  const port = await freePort();
  const path = [join(cwd, 'bin'), programs, process.env['PATH']].filter(Boolean).join(':');
  const shell = spawn('bash', ['-c', scriptOf(blocks, service.url, port)], {
    cwd,
    env: { PATH: path, HOME: cwd, OBSYNC_PORT: String(port), ...env },
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
  return { code, said, printed, cwd };
}

/** The blocks of one document as one script that reports its progress on stderr. */
function scriptOf(blocks: readonly Block[], serviceUrl: string, port: number): string {
  const commands = blocks.map((block, i) => `echo "--- block ${i + 1}" >&2\n${commandOf(block, i)}`);
  return ['set -euo pipefail', ...commands]
    .join('\n')
    .replaceAll(SERVICE, serviceUrl)
    .replaceAll(SERVICE_TOKEN, SERVE_TOKEN)
    .replaceAll(SERVED, `127.0.0.1:${port}`);
}

function commandOf({ language, text }: Block, i: number): string {
  if (language === BACKGROUND) return inBackground(text, `served-${i}`);
  return language === PYTHON ? `python3 - <<'END OF PYTHON'\n${text}END OF PYTHON\n` : text;
}

/** Started in the background; the script waits for its first line. */
const inBackground = (text: string, pipe: string): string =>
  `mkfifo ${pipe}\n{ ${text.trim()}\n} > ${pipe} &\nread -r < ${pipe}\n`;

/** A port that nothing listens on, for programs that cannot choose one. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // None of its processes is running any more.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
