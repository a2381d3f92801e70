import { userInfo } from 'node:os';
import type { ClientConfig } from 'pg';
import { SyncError } from '../../core/errors.ts';
import type { PostgresAddress } from '../../destination/postgres/address.ts';
import { findPassword } from './password-file.ts';
import { isUnencryptedRemote, tlsOptions } from './postgres-tls.ts';
import type { ConnectionKeywords } from './postgres-url.ts';
import { readService } from './service-file.ts';

/** The variables of PostgreSQL's own programs, by the part of an address that each stands for. */
const VARIABLES: Readonly<Record<string, string>> = {
  host: 'PGHOST',
  port: 'PGPORT',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  passfile: 'PGPASSFILE',
  dbname: 'PGDATABASE',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  sslnegotiation: 'PGSSLNEGOTIATION',
  channel_binding: 'PGCHANNELBINDING',
  application_name: 'PGAPPNAME',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  options: 'PGOPTIONS',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
};

/** Without one, a server that drops packets would be waited for until the system gives up, which takes minutes. */
const CONNECT_TIMEOUT_SECONDS = 30;

const DEFAULT_SCHEMA = 'obsync';

/**
 * What an address means: what it does not say comes from the service that it names, then from the variables of
 * PostgreSQL's own programs, then from their defaults.
 * @throws SyncError `usage`
 */
export function postgresAddress(said: ConnectionKeywords, env: NodeJS.ProcessEnv): PostgresAddress {
  const find = finder(said, env);
  const user = find('user') ?? userInfo().username;
  const login = {
    host: find('host') ?? DEFAULT_HOST,
    port: portOf(find('port')),
    user,
    database: find('dbname') ?? user,
  };
  const schema = schemaOf(said.get('schema'));
  const display = `postgres://${encodeURIComponent(user)}@${shownHost(login.host)}:${login.port}/${encodeURIComponent(login.database)}?schema=${schema}`;
  const password = find('password');
  refuseReplica(find('target_session_attrs'));
  const client: ClientConfig = {
    ...login,
    // A function: whatever prints this object shows no password.
    password: () => password ?? passwordOfFile(login, { passfile: find('passfile'), env, display }),
    // A socket of this machine needs no encryption.
    ssl: login.host.startsWith('/') ? false : tlsOptions(find),
    // The driver would take another one from a variable.
    client_encoding: 'UTF8',
    // A connection that another host has forgotten is noticed, also while nothing is asked.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: find('application_name') ?? 'obsync',
    connectionTimeoutMillis: 1000 * secondsOf(find('connect_timeout')),
    ...optional('options', find('options')),
    ...(find('sslnegotiation') === 'direct' ? { sslnegotiation: 'direct' } : {}),
    ...(find('channel_binding') === 'require' ? { enableChannelBinding: true } : {}),
  };
  return { kind: 'postgres', schema, display, client, answerTimeoutMs: answerTimeoutOf(find('tcp_user_timeout')) };
}

/** Warnings of an address that is valid but probably a mistake. @throws SyncError `usage` */
export function warningsOfAddress(said: ConnectionKeywords, env: NodeJS.ProcessEnv): string[] {
  const find = finder(said, env);
  const host = find('host') ?? DEFAULT_HOST;
  if (!isUnencryptedRemote(host, find)) return [];
  return [
    `the connection to ${host} is not encrypted: rows, and with some ways to log in the password, can be read on their way; write sslmode=verify-full or sslmode=require (or sslmode=disable, if that is meant)`,
  ];
}

const DEFAULT_HOST = 'localhost';

function finder(said: ConnectionKeywords, env: NodeJS.ProcessEnv): (name: string) => string | undefined {
  const service = said.get('service') ?? (env['PGSERVICE'] || undefined);
  const ofService = service === undefined ? new Map<string, string>() : readService(service, env);
  return (name) => said.get(name) ?? ofService.get(name) ?? (env[VARIABLES[name] ?? ''] || undefined);
}

function optional(name: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined ? {} : { [name]: value };
}

/**
 * The password that the password file holds for a login. The driver asks for it only if the server does.
 * @throws SyncError `usage`
 */
function passwordOfFile(
  login: Parameters<typeof findPassword>[0],
  { passfile, env, display }: { passfile: string | undefined; env: NodeJS.ProcessEnv; display: string },
): string {
  const found = findPassword(login, passfile, env);
  if (found !== null) return found;
  throw new SyncError(
    'usage',
    `${display} asks for a password: set PGPASSWORD, write it into ~/.pgpass or a service file, or put the whole address into OBSYNC_DB or into a file for --db-file`,
  );
}

/** An unquoted identifier, so that every program finds the schema whatever it does with capitals. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;

/** The schema of the accounts and of their quotas. */
const ACCOUNTS_SCHEMA = 'obsync_accounts';

function schemaOf(given = DEFAULT_SCHEMA): string {
  if (given === ACCOUNTS_SCHEMA)
    throw new SyncError('usage', `the schema ${given} is taken by obsync itself: name another one for the mirror`);
  if (SCHEMA.test(given) && !/^pg_|^information_schema$/.test(given)) return given;
  throw new SyncError(
    'usage',
    'the schema of the mirror is not valid: use lower-case letters, digits and _ (63 at most, no digit first, not pg_…), as in ?schema=obsync',
  );
}

function portOf(given = '5432'): number {
  const port = Number(given);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new SyncError('usage', 'the port of the mirror in PostgreSQL is not valid: use a number from 1 to 65535');
}

/** As with PostgreSQL's own programs, 0 waits for as long as it takes. */
function secondsOf(given = String(CONNECT_TIMEOUT_SECONDS)): number {
  const seconds = Number(given);
  if (Number.isInteger(seconds) && seconds >= 0) return seconds;
  throw new SyncError('usage', 'connect_timeout needs a whole number of seconds');
}

/**
 * The driver cannot set it for the kernel, which would not notice a proxy that swallows everything either. As there, 0
 * stands for the default.
 */
function answerTimeoutOf(given = '0'): number | undefined {
  const timeoutMs = Number(given);
  if (Number.isInteger(timeoutMs) && timeoutMs >= 0) return timeoutMs || undefined;
  throw new SyncError('usage', 'tcp_user_timeout needs a whole number of milliseconds');
}

/** A mirror is written. A replica answers a command that only reads, too. */
function refuseReplica(wanted = 'any'): void {
  if (['any', 'read-write', 'primary', 'prefer-standby'].includes(wanted)) return;
  throw new SyncError(
    'usage',
    'target_session_attrs cannot be kept: leave it out, and name the server that you mean by its host',
  );
}

function shownHost(host: string): string {
  return host.includes(':') ? `[${host}]` : encodeURIComponent(host);
}
