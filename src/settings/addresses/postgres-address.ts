import { userInfo } from 'node:os';
import type { ClientConfig } from 'pg';
import { usageError } from '../../core/errors.ts';
import type { PostgresAddress } from '../../destination/postgres/address.ts';
import { type DatabaseLogin, findPassword } from './password-file.ts';
import { isUnencryptedRemote, libpqSslMode, tlsOptions } from './postgres-tls.ts';
import { type ConnectionKeywords, VARIABLES } from './postgres-url.ts';
import { readService } from './service-file.ts';

/** Without a timeout, a server that drops packets blocks until the operating system gives up, after minutes. */
const CONNECT_TIMEOUT_SECONDS = 30;

const DEFAULT_SCHEMA = 'obsync';

/**
 * Resolves an address. What it leaves out comes from its service, then from the variables of PostgreSQL's own programs,
 * then from their defaults.
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
    // A function, so printing this object shows no password.
    password: () => password ?? passwordOfFile(login, { passfile: find('passfile'), env, display }),
    // A local socket needs no encryption.
    ssl: login.host.startsWith('/') ? false : tlsOptions(find),
    // The driver would otherwise take an encoding from a variable.
    client_encoding: 'UTF8',
    // Detects a connection that the other host has forgotten, also while it is idle.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: find('application_name') ?? 'obsync',
    connectionTimeoutMillis:
      1000 * timeOf('connect_timeout', 'seconds', find('connect_timeout') ?? CONNECT_TIMEOUT_SECONDS),
    ...optional('options', find('options')),
    ...(find('sslnegotiation') === 'direct' ? { sslnegotiation: 'direct' } : {}),
    ...(find('channel_binding') === 'require' ? { enableChannelBinding: true } : {}),
  };
  if (client.enableChannelBinding === true && client.ssl === false)
    throw usageError('channel_binding=require needs an encrypted connection: add sslmode=verify-full');
  return {
    kind: 'postgres',
    schema,
    display,
    ...optional('sslmode', libpqSslMode(find)),
    client,
    // The driver cannot set it in the kernel, which would not notice a proxy that swallows everything either.
    answerTimeoutMs: timeOf('tcp_user_timeout', 'milliseconds', find('tcp_user_timeout') ?? 0) || undefined,
  };
}

/** Warnings about an address that is valid but probably a mistake. @throws SyncError `usage` */
export function warningsOfAddress(said: ConnectionKeywords, env: NodeJS.ProcessEnv): string[] {
  const find = finder(said, env);
  const host = find('host') ?? DEFAULT_HOST;
  if (!isUnencryptedRemote(host, find)) return [];
  return [
    `the connection to ${host} is not encrypted: others can read the rows and, with some login methods, the password; use sslmode=verify-full or sslmode=require (or sslmode=disable, if that is intended)`,
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

/** The login's password from the password file; called only if the server requires one. @throws SyncError `usage` */
function passwordOfFile(
  login: DatabaseLogin,
  { passfile, env, display }: { passfile: string | undefined; env: NodeJS.ProcessEnv; display: string },
): string {
  const found = findPassword(login, passfile, env);
  if (found !== null) return found;
  throw usageError(
    `${display} requires a password: set PGPASSWORD, write it into ~/.pgpass or a service file, or put the whole address into OBSYNC_DB or into a file for --db-file`,
  );
}

/** An unquoted identifier, so every program finds the schema however it treats capitals. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;

/** The schema of the accounts and of their quotas. */
const ACCOUNTS_SCHEMA = 'obsync_accounts';

function schemaOf(given = DEFAULT_SCHEMA): string {
  if (given === ACCOUNTS_SCHEMA)
    throw usageError(`obsync uses the schema ${given} itself: name another one for the mirror`);
  if (SCHEMA.test(given) && !/^pg_|^information_schema$/.test(given)) return given;
  throw usageError(
    'the schema of the mirror is not valid: use lower-case letters, digits and _ (63 at most, no digit first, not pg_…), as in ?schema=obsync',
  );
}

function portOf(given = '5432'): number {
  const port = Number(given);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw usageError('the port of the mirror in PostgreSQL is not valid: use a number from 1 to 65535');
}

/** 0 means no limit or the default, as in PostgreSQL's own programs. */
function timeOf(name: string, unit: string, given: string | number): number {
  const time = Number(given);
  if (Number.isInteger(time) && time >= 0) return time;
  throw usageError(`${name} needs a whole number of ${unit}`);
}

/** A mirror is written to. Read-only commands work on a replica too. */
function refuseReplica(wanted = 'any'): void {
  if (['any', 'read-write', 'primary', 'prefer-standby'].includes(wanted)) return;
  throw usageError('target_session_attrs is not supported: remove it and name the intended server by its host');
}

function shownHost(host: string): string {
  return host.includes(':') ? `[${host}]` : encodeURIComponent(host);
}
