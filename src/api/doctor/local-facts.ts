import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { lockPath } from '../../../state/lock.ts';
import { belongsTo } from '../../../state/run-log.ts';
import { SyncError } from '../../core/errors.ts';
import type { MirrorAddress } from '../../destination/mirror-address.ts';
import type { MirrorStore } from '../../destination/mirror-store.ts';
import type { ServerFacts } from '../../destination/postgres/server-facts.ts';
import { networkFileSystemOf } from '../../destination/sqlite/network-folder.ts';
import { OptionError } from '../../settings/option-error.ts';
import type { SyncSettings } from '../../settings/sync-settings.ts';
import { type AccessToken, isReadByAll } from '../../settings/token.ts';
import { version } from '../../settings/version.ts';
import type { FileFacts, LocalFacts } from './local-checks.ts';
import type { FoundFact } from './verdict.ts';

export interface GivenSettings {
  readonly token: FoundFact<AccessToken>;
  readonly tokenFile: string | null;
  readonly service: FoundFact<SyncSettings>;
  readonly address: MirrorAddress;
  readonly allowNetworkFs: boolean;
  readonly store: MirrorStore;
}

/** Looks at this machine and at the mirror, and asks nothing of the service. */
export async function findLocalFacts(given: GivenSettings): Promise<LocalFacts> {
  const { token, tokenFile, service, address, store } = given;
  const file = address.kind === 'file' ? fileFacts(address.path, given.allowNetworkFs) : null;
  const database = address.kind === 'file' ? null : await attempt(() => databaseFacts(address));
  const isReached = file === null ? database !== null && 'value' in database : file.isThere;
  return {
    versions: { obsync: version(), node: process.versions.node, sqlite: sqliteVersion() },
    token: 'error' in token ? token : { value: { ...token.value, tokenFile, isReadByAll: isOpen(tokenFile) } },
    service,
    mirror: isReached ? await attempt(() => mirrorFacts(store, service)) : { value: NO_MIRROR(store) },
    file,
    database,
  };
}

const NO_MIRROR = ({ display }: MirrorStore) => ({ display, version: 0, lastVersion: 0 });

const isOpen = (path: string | null): boolean => path !== null && isReadByAll(path);

/** What an attempt returned, or the message of its error. Options with wrong values are the caller's to correct. */
export async function attempt<Value>(find: () => Value | Promise<Value>): Promise<FoundFact<Value>> {
  try {
    return { value: await find() };
  } catch (error) {
    if (error instanceof SyncError && !(error instanceof OptionError)) return { error: error.message };
    throw error;
  }
}

function sqliteVersion(): string {
  const connection = new Database(':memory:');
  const found = connection.prepare<[], string>('select sqlite_version()').pluck().get();
  connection.close();
  return String(found);
}

async function mirrorFacts(store: MirrorStore, service: FoundFact<SyncSettings>) {
  const { found, last } = await store.version();
  if (found === last && 'value' in service) await store.read(() => belongsTo(service.value.baseUrl, store.display));
  return { display: store.display, version: found, lastVersion: last };
}

function fileFacts(path: string, allowNetworkFs: boolean): FileFacts {
  const lock = lockPath(path);
  const real = lock.replace(/\.lock$/, '');
  const folder = dirname(real);
  const mirror = statSync(real, { throwIfNoEntry: false });
  const files = ['', '-wal', '-shm'].map((end) => `${real}${end}`);
  const ownUid = process.getuid?.() ?? null;
  const disk = existsSync(folder) ? statfsSync(folder) : { bavail: 0, bsize: 0 };
  return {
    folder,
    isThere: existsSync(folder),
    unwritable: [folder, ...files, lock].filter((each) => existsSync(each) && !isWritable(each)),
    owner: mirror === undefined || ownUid === null ? null : { uid: mirror.uid, ownUid },
    isNetworkKnown: process.platform === 'linux',
    networkFs: networkFileSystemOf(path),
    allowNetworkFs,
    freeBytes: disk.bavail * disk.bsize,
    bytes: files.reduce((sum, each) => sum + (statSync(each, { throwIfNoEntry: false })?.size ?? 0), 0),
  };
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Loaded on demand, so a file needs no PostgreSQL driver. */
async function databaseFacts(address: Extract<MirrorAddress, { kind: 'postgres' }>): Promise<ServerFacts> {
  return (await import('../../destination/postgres/server-facts.ts')).serverFacts(address);
}
