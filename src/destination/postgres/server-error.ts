import { DatabaseError } from 'pg';
import { SyncError } from '../../core/errors.ts';

type ErrorAdvice = readonly [SyncError['recovery'], string];

const NO_MIRROR: ErrorAdvice = [
  'usage',
  'holds no mirror: run `obsync sync` on it first, or name another schema with ?schema=',
];
const CONFLICT: ErrorAdvice = ['run', 'had a conflict with another transaction: run again; nothing is lost'];
const LOST: ErrorAdvice = [
  'run',
  'lost the connection: check the server and the network, and run again; nothing is lost',
];
const UNREACHABLE: ErrorAdvice = ['run', 'cannot be reached: check the network, and run again'];
const UNKNOWN_AUTHORITY: ErrorAdvice = [
  'usage',
  'has a certificate from an unknown authority: pass its certificate with sslrootcert',
];

/** PostgreSQL's codes for too many connections, and for a lock that was not granted in time. */
export const TOO_MANY_CONNECTIONS = '53300';
export const LOCK_NOT_AVAILABLE = '55P03';

/** The advice for each SQLSTATE; a class of two letters covers the codes without a line of their own. */
const ADVICE: Readonly<Record<string, ErrorAdvice>> = {
  '08P01': [
    'usage',
    'refused how obsync connects: set pool_mode = transaction in the pooler, and leave `options` out of the address',
  ],
  '22': ['run', 'refused a value that it cannot hold'],
  '25006': ['usage', 'is read-only: name the primary server, not a replica, and check default_transaction_read_only'],
  '25P03': ['run', 'ended the connection, because a transaction was idle for too long: run again; nothing is lost'],
  '25P04': ['run', 'ended a transaction that took too long: raise transaction_timeout of its user, and run again'],
  '28': [
    'usage',
    'refused the login: check the user, and whether pg_hba.conf lets it in (perhaps only with sslmode=require)',
  ],
  '28P01': ['usage', 'refused the password: check the user and the password'],
  '3D000': ['usage', 'has no such database: create it (createdb), or name another one in the address'],
  '3F000': NO_MIRROR,
  '40001': CONFLICT,
  '40P01': CONFLICT,
  '42P01': NO_MIRROR,
  '53': ['run', 'has run out of a resource: check its log, and run again; nothing is lost'],
  '53100': ['run', 'has no room left on its disk: make room and run again; nothing is lost'],
  '53200': ['run', 'is out of memory: give it more, or lower its work_mem, and run again; nothing is lost'],
  '53300': ['run', 'has too many connections: close some, raise max_connections or use a pooler, and run again'],
  '54': ['run', 'refused a value that is larger than its limits'],
  '55P03': ['run', 'is locked by another program: end its transaction and run again; nothing is lost'],
  '57014': ['run', 'cancelled a statement that took too long: raise statement_timeout of its user, and run again'],
  '57P01': [
    'run',
    'ended the connection, because an administrator stopped it: run again when it is back; nothing is lost',
  ],
  '57P02': ['run', 'crashed: run again when it is back; nothing is lost'],
  '57P03': ['run', 'accepts no connections while it starts or stops: run again in a moment'],
  '57P04': ['usage', 'no longer has this database: create it (createdb), or name another one in the address'],
  '57P05': ['run', 'ended the connection, because it was idle for too long: run again; nothing is lost'],
  '58': ['run', 'could not read or write its files: check its log, and run again; nothing is lost'],
  XX: ['run', 'reports damaged data: check its log before you run again'],
};

/** Advice that quotes the server, because another server may be the reason, such as a node of Citus. */
const QUOTING: Readonly<Record<string, (quoted: string) => ErrorAdvice>> = {
  '08': (quoted) => [
    'run',
    `lost a connection (${quoted}): check that server and the network, and run again; nothing is lost`,
  ],
  '42501': (quoted) => [
    'usage',
    `refused for lack of permission (${quoted}): to read, grant the user USAGE on the schema and SELECT on its tables; to write, make it their owner; to create the mirror, grant it CREATE on the database`,
  ],
  XX000: (quoted) => [
    'run',
    `had an internal error (${quoted}): check the log of that server, and run again; nothing is lost`,
  ],
};

/** What the server says, and what it was doing: Citus names the node there. One line. */
function quotedOf({ message, where }: DatabaseError): string {
  return [message, where ?? '']
    .map((text) => text.split('\n')[0])
    .filter(Boolean)
    .join(', ');
}

const SOCKET_ADVICE: Readonly<Record<string, ErrorAdvice>> = {
  ECONNREFUSED: [
    'run',
    'cannot be reached: nothing listens there; check host and port, and that the server is running',
  ],
  ECONNRESET: LOST,
  EPIPE: LOST,
  ENOTFOUND: ['usage', 'cannot be found: the host name does not exist; check the address'],
  EAI_AGAIN: ['run', 'cannot be found: the name server does not answer; check the network, and run again'],
  ETIMEDOUT: ['run', 'does not answer: check host, port and firewall, and run again'],
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ENOENT: [
    'usage',
    'cannot be reached: there is no socket in this folder; check the address, and that the server is running',
  ],
  EACCES: ['usage', 'cannot be reached: this user may not open the socket'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['usage', 'has a self-signed certificate: pass it with sslrootcert'],
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  CERT_HAS_EXPIRED: ['usage', 'has an expired certificate: renew it on the server'],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'usage',
    'has a certificate for another host: use the host name that is in the certificate',
  ],
};

/**
 * Turns an error of the server, connection or driver into a line that says what to do; returns other errors. `display`
 * is the address without its password.
 */
export function serverError(display: string, error: unknown): unknown {
  const met = driverErrorOf(error);
  if (met === null) return error;
  const [recovery, advice] = adviceFor(met) ?? LOST;
  return new SyncError(recovery, `${display} ${advice}`, { cause: error });
}

/** Like `serverError`, for an error before there was a connection: a driver error without a code is quoted. */
export function connectError(display: string, error: unknown): unknown {
  const met = driverErrorOf(error);
  if (met === null) return error;
  const [recovery, advice] = adviceFor(met) ?? ['run', `cannot be connected to: ${met.message}`];
  return new SyncError(recovery, `${display} ${advice}`, { cause: error });
}

/** The SQLSTATE of an error, wrapped or not; null if it is not the server's. */
export function sqlStateOf(error: unknown): string | null {
  const met = driverErrorOf(error);
  return met instanceof DatabaseError ? (met.code ?? null) : null;
}

/** Selects the server's version number, such as 180004 for 18.4, and the encoding of its database. */
export const SERVER_FACTS =
  "select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding";

/** @throws SyncError `usage` for a server that lacks what the statements need */
export function refuseOldServer(display: string, versionNumber: number): void {
  if (versionNumber >= OLDEST * 10_000) return;
  throw new SyncError(
    'usage',
    `${display} runs PostgreSQL ${Math.floor(versionNumber / 10_000)}: obsync needs version ${OLDEST} or later`,
  );
}

/** @throws SyncError `usage` for a database that cannot hold every character */
export function refuseOtherEncoding(display: string, encoding: string): void {
  if (encoding === 'UTF8') return;
  throw new SyncError(
    'usage',
    `${display} is encoded in ${encoding}, which cannot hold every character: create a database with UTF8 (createdb --encoding=UTF8 --template=template0)`,
  );
}

const OLDEST = 13;

type DriverError = Error & { readonly code?: string | undefined };

function adviceFor(error: DriverError): ErrorAdvice | null {
  const { code, message } = error;
  if (code === undefined) return null;
  if (!(error instanceof DatabaseError)) return SOCKET_ADVICE[code] ?? ofEncryption(code);
  const quoting = ADVICE[code] === undefined ? (QUOTING[code] ?? QUOTING[code.slice(0, 2)]) : undefined;
  if (quoting !== undefined) return quoting(quotedOf(error));
  return ADVICE[code] ?? ADVICE[code.slice(0, 2)] ?? ['run', `refused a statement: ${message} (SQLSTATE ${code})`];
}

function ofEncryption(code: string): ErrorAdvice {
  return ['usage', `cannot be reached over TLS (${code}): check sslmode and the certificates`];
}

/** The driver gives some connection errors no code; they are plain errors, unlike those of a program. */
function driverErrorOf(error: unknown): DriverError | null {
  if (error instanceof SyncError || !(error instanceof Error)) return null;
  const { code } = error as DriverError;
  if (error instanceof DatabaseError || (typeof code === 'string' && isOfConnection(code))) return error;
  if (error.cause !== undefined) return driverErrorOf(error.cause);
  return code === undefined && error.constructor === Error ? error : null;
}

const isOfConnection = (code: string): boolean => code in SOCKET_ADVICE || /^(ERR_(SSL|TLS)_|EPROTO$|CERT_)/.test(code);
