import { DatabaseError } from 'pg';
import { SyncError, usageError } from '../../core/errors.ts';

type ErrorAdvice = readonly [SyncError['recovery'], string];

const CONFLICT = 'had a conflict with another transaction: run again; nothing is lost';
const LOST = 'lost the connection: check the server and the network, and run again; nothing is lost';
const NO_MIRROR = 'holds no mirror: run `obsync sync` on it first, or name another schema with ?schema=';
const UNREACHABLE = 'cannot be reached: check the network, and run again';
const UNKNOWN_AUTHORITY = 'has a certificate from an unknown authority: pass its certificate with sslrootcert';

/** PostgreSQL's codes for too many connections, and for a lock that was not granted in time. */
export const TOO_MANY_CONNECTIONS = '53300';
export const LOCK_NOT_AVAILABLE = '55P03';

/**
 * The advice for each SQLSTATE and each code of a socket. A class of two letters covers the SQLSTATEs without a line of
 * their own. QUOTED is what the server says, because another server may be the reason, such as a node of Citus.
 */
const ADVICE: Readonly<Record<'usage' | 'run', Readonly<Record<string, string>>>> = {
  usage: {
    '08P01':
      'refused how obsync connects: set pool_mode = transaction in the pooler, and leave `options` out of the address',
    '25006': 'is read-only: name the primary server, not a replica, and check default_transaction_read_only',
    '28': 'refused the login: check the user, and whether pg_hba.conf lets it in (perhaps only with sslmode=require)',
    '28P01': 'refused the password: check the user and the password',
    '3D000': 'has no such database: create it (createdb), or name another one in the address',
    '3F000': NO_MIRROR,
    '42501':
      'refused for lack of permission (QUOTED): to read, grant the user USAGE on the schema and SELECT on its tables; to write, make it their owner; to create the mirror, grant it CREATE on the database',
    '42P01': NO_MIRROR,
    '57P04': 'no longer has this database: create it (createdb), or name another one in the address',
    ENOTFOUND: 'cannot be found: the host name does not exist; check the address',
    ENOENT: 'cannot be reached: there is no socket in this folder; check the address, and that the server is running',
    EACCES: 'cannot be reached: this user may not open the socket',
    DEPTH_ZERO_SELF_SIGNED_CERT: 'has a self-signed certificate: pass it with sslrootcert',
    SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
    CERT_HAS_EXPIRED: 'has an expired certificate: renew it on the server',
    ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another host: use the host name that is in the certificate',
  },
  run: {
    '08': 'lost a connection (QUOTED): check that server and the network, and run again; nothing is lost',
    '22': 'refused a value that it cannot hold',
    '25P03': 'ended the connection, because a transaction was idle for too long: run again; nothing is lost',
    '25P04': 'ended a transaction that took too long: raise transaction_timeout of its user, and run again',
    '40001': CONFLICT,
    '40P01': CONFLICT,
    '53': 'has run out of a resource: check its log, and run again; nothing is lost',
    '53100': 'has no room left on its disk: make room and run again; nothing is lost',
    '53200': 'is out of memory: give it more, or lower its work_mem, and run again; nothing is lost',
    '53300': 'has too many connections: close some, raise max_connections or use a pooler, and run again',
    '54': 'refused a value that is larger than its limits',
    '55P03': 'is locked by another program: end its transaction and run again; nothing is lost',
    '57014': 'cancelled a statement that took too long: raise statement_timeout of its user, and run again',
    '57P01': 'ended the connection, because an administrator stopped it: run again when it is back; nothing is lost',
    '57P02': 'crashed: run again when it is back; nothing is lost',
    '57P03': 'accepts no connections while it starts or stops: run again in a moment',
    '57P05': 'ended the connection, because it was idle for too long: run again; nothing is lost',
    '58': 'could not read or write its files: check its log, and run again; nothing is lost',
    XX: 'reports damaged data: check its log before you run again',
    XX000: 'had an internal error (QUOTED): check the log of that server, and run again; nothing is lost',
    ECONNREFUSED: 'cannot be reached: nothing listens there; check host and port, and that the server is running',
    ECONNRESET: LOST,
    EPIPE: LOST,
    EAI_AGAIN: 'cannot be found: the name server does not answer; check the network, and run again',
    ETIMEDOUT: 'does not answer: check host, port and firewall, and run again',
    EHOSTUNREACH: UNREACHABLE,
    ENETUNREACH: UNREACHABLE,
  },
};

function adviceOf(code: string): ErrorAdvice | undefined {
  const recovery = code in ADVICE.usage ? 'usage' : 'run';
  const advice = ADVICE[recovery][code];
  return advice === undefined ? undefined : [recovery, advice];
}

/** What the server says, and what it was doing: Citus names the node there. One line. */
function quotedOf({ message, where }: DatabaseError): string {
  return [message, where ?? '']
    .map((text) => text.split('\n')[0])
    .filter(Boolean)
    .join(', ');
}

/**
 * Turns an error of the server, connection or driver into a line that says what to do; returns other errors. `display`
 * is the address without its password.
 */
export function serverError(display: string, error: unknown): unknown {
  const met = driverErrorOf(error);
  if (met === null) return error;
  const [recovery, advice] = adviceFor(met);
  return new SyncError(recovery, `${display} ${advice}`, { cause: error });
}

/** Like `serverError`, for an error before there was a connection: a driver error without a code is quoted. */
export function connectError(display: string, error: unknown): unknown {
  const met = driverErrorOf(error);
  if (met === null || met.code !== undefined) return serverError(display, error);
  return new SyncError('run', `${display} cannot be connected to: ${met.message}`, { cause: error });
}

/** The SQLSTATE of an error, wrapped or not; null if it is not the server's. */
export function sqlStateOf(error: unknown): string | null {
  const met = driverErrorOf(error);
  return met instanceof DatabaseError ? (met.code ?? null) : null;
}

/** The code of an error of any driver, even if it was already explained. */
export function codeOf(error: unknown): unknown {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  return cause?.code ?? code;
}

/** @throws SyncError `usage` for a server that lacks what the statements need */
export function refuseOldServer(display: string, versionNumber: number): void {
  if (versionNumber >= OLDEST * 10_000) return;
  throw usageError(
    `${display} runs PostgreSQL ${Math.floor(versionNumber / 10_000)}: obsync needs version ${OLDEST} or later`,
  );
}

const OLDEST = 13;

type DriverError = Error & { readonly code?: string | undefined };

function adviceFor(error: DriverError): ErrorAdvice {
  const { code, message } = error;
  if (code === undefined) return ['run', LOST];
  if (!(error instanceof DatabaseError))
    return adviceOf(code) ?? ['usage', `cannot be reached over TLS (${code}): check sslmode and the certificates`];
  const found = adviceOf(code) ?? adviceOf(code.slice(0, 2));
  if (found === undefined) return ['run', `refused a statement: ${message} (SQLSTATE ${code})`];
  return [found[0], found[1].replace('QUOTED', () => quotedOf(error))];
}

/** The driver gives some connection errors no code; they are plain errors, unlike those of a program. */
function driverErrorOf(error: unknown): DriverError | null {
  if (error instanceof SyncError || !(error instanceof Error)) return null;
  const { code } = error as DriverError;
  if (error instanceof DatabaseError || (typeof code === 'string' && isOfConnection(code))) return error;
  if (error.cause !== undefined) return driverErrorOf(error.cause);
  return code === undefined && error.constructor === Error ? error : null;
}

const isOfConnection = (code: string): boolean =>
  adviceOf(code) !== undefined || /^(ERR_(SSL|TLS)_|EPROTO$|CERT_)/.test(code);
