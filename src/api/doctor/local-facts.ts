import { constants, existsSync, type Stats, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { lockPath } from '../../../state/lock.ts';
import { belongsTo } from '../../../state/run-log.ts';
import { SyncError } from '../../core/errors.ts';
import { isAccessible } from '../../destination/sqlite/file-error.ts';
import { networkFileSystemOf } from '../../destination/sqlite/network-folder.ts';
import { addressOf, givenAddress } from '../../settings/addresses/mirror-address.ts';
import { OptionError } from '../../settings/option-error.ts';
import type { OptionsNamed, ServiceOptions } from '../../settings/options.ts';
import { syncSettings } from '../../settings/sync-settings.ts';
import { isReadByAll, readToken } from '../../settings/token.ts';
import { version } from '../../settings/version.ts';
import { openStore } from '../open-store.ts';

export interface CheckedOptions
  extends Pick<ServiceOptions, 'token' | 'tokenFrom' | 'shareQuota' | 'signal'>,
    OptionsNamed<'baseUrl' | 'db' | 'dbFile' | 'tokenFile' | 'env' | 'timeout'>,
    OptionsNamed<'allowHttp' | 'caFile' | 'allowNetworkFs'> {}

export type FactError = Pick<SyncError, 'message' | 'recovery'>;

export type FoundFact<Value> = { readonly value: Value } | { readonly error: FactError };

/** What `find` returned, or its error. Options with wrong values are the caller's to correct. */
export async function factOf<Value>(find: () => Value | Promise<Value>): Promise<FoundFact<Value>> {
  try {
    return { value: await find() };
  } catch (error) {
    if (error instanceof SyncError && !(error instanceof OptionError)) return { error };
    throw error;
  }
}

export type LocalFacts = Awaited<ReturnType<typeof findLocalFacts>>;

/** Looks at the settings, this machine and the mirror, and asks nothing of the service. */
export async function findLocalFacts({ baseUrl, tokenFile, ...rest }: CheckedOptions) {
  // The token is judged by itself, and the other options even without a base URL.
  const settingsFor = (url: string) => factOf(() => syncSettings({ ...rest, baseUrl: url, token: 'none' }));
  if (baseUrl === undefined) await settingsFor('https://none.invalid');
  const service = await settingsFor(baseUrl as string);
  const db = givenAddress(rest);
  const [address, store] = [addressOf(db), await openStore(db)];
  const file = address.kind === 'file' ? fileFacts(address.path, rest.allowNetworkFs === true) : null;
  // Loaded only here: a file needs no PostgreSQL driver.
  const serverFacts = async () => (await import('../../destination/postgres/server-facts.ts')).serverFacts;
  const database = address.kind === 'file' ? null : await factOf(async () => (await serverFacts())(address));
  const readMirror = async () => {
    const found = await store.version();
    if (found.found === found.last && 'value' in service)
      await store.read(() => belongsTo(service.value.baseUrl, store.display));
    return { display: store.display, ...found };
  };
  const token = await factOf(() => readToken({ ...rest, tokenFile }));
  return {
    versions: { obsync: version(), node: process.versions.node, sqlite: sqliteVersion() },
    token,
    openTokenFile: tokenFile !== undefined && isReadByAll(tokenFile) ? tokenFile : null,
    service,
    store,
    file,
    database,
    /** Null if its place cannot be reached. */
    mirror: file?.isThere === false || (database && 'error' in database) ? null : await factOf(readMirror),
  };
}

function sqliteVersion(): string {
  const connection = new Database(':memory:');
  const found = connection.prepare<[], string>('select sqlite_version()').pluck().get();
  connection.close();
  return String(found);
}

function fileFacts(path: string, allowNetworkFs: boolean) {
  const lock = lockPath(path);
  const folder = dirname(lock);
  const files = ['', '-wal', '-shm'].map((end) => lock.replace(/\.lock$/, end));
  const found = files.map((each): Stats | undefined => statSync(each, { throwIfNoEntry: false }));
  const isThere = existsSync(folder);
  const { bavail, bsize } = isThere ? statfsSync(folder) : { bavail: 0, bsize: 0 };
  return {
    folder,
    isThere,
    /** What this user needs to write and may not. */
    unwritable: [folder, ...files, lock].filter((each) => existsSync(each) && !isAccessible(each, constants.W_OK)),
    /** Null without a mirror. */
    ownerId: found[0]?.uid ?? null,
    /** Undefined on systems that don't number users. */
    userId: process.getuid?.(),
    isNetworkKnown: process.platform === 'linux',
    networkFs: networkFileSystemOf(path),
    allowNetworkFs,
    freeBytes: bavail * bsize,
    bytes: found.reduce((sum, each) => sum + (each?.size ?? 0), 0),
  };
}
