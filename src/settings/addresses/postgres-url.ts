import { closestName } from '../../core/closest-name.ts';
import { type SyncError, usageError } from '../../core/errors.ts';

/** The keywords of an address in PostgreSQL's programs: `host`, `port`, `user`, `password`, `dbname`, `sslmode`, … */
export type ConnectionKeywords = ReadonlyMap<string, string>;

/** The keywords of PostgreSQL's programs that obsync supports, and the variable that sets each, if there is one. */
export const VARIABLES: Readonly<Record<string, string | null>> = {
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
  tcp_user_timeout: null,
  options: 'PGOPTIONS',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
};

/** The parameters that a service file may have: it cannot set a schema or another service. */
export const SERVICE_PARAMETERS: readonly string[] = Object.keys(VARIABLES);

/** The parameters that an address may have. */
const PARAMETERS: readonly string[] = ['schema', 'service', ...SERVICE_PARAMETERS];

const ADVICE = 'write it as postgres://user@host:port/database?schema=name, with special characters as %XX';

/**
 * Parses `postgres://…`. A `+` is a plus sign, as in libpq. No message repeats the address: it may contain a password.
 * @throws SyncError `usage`
 */
export function parsePostgresUrl(given: string): ConnectionKeywords {
  const text = given.trim();
  const url = /^postgres(ql)?:\/\//i.test(text) ? URL.parse(withHost(text.replaceAll('+', '%2B'))) : null;
  // An unescaped slash, question mark or number sign in a password would be parsed as a host, a database or a
  // parameter.
  if (url === null || url.hash !== '' || /\s/.test(text) || /[@/]/.test(url.pathname.slice(1)))
    throw usageError(`the address of the mirror in PostgreSQL is not valid: ${ADVICE}`);
  const host = url.hostname === NO_HOST ? '' : url.hostname.replace(/^\[(.+)\]$/, '$1');
  const parts: [string, string][] = [
    ['host', decoded(host)],
    ['port', url.port],
    ['user', decoded(url.username)],
    ['password', decoded(url.password)],
    ['dbname', decoded(url.pathname.slice(1))],
  ];
  return new Map([...parts.filter(([, value]) => value !== ''), ...parametersOf(url)]);
}

/** `postgres:///database` is a valid address, of the default host. A URL with a user needs a host, though. */
function withHost(text: string): string {
  return text.replace(/^([a-z]+:\/\/(?:[^/?#]*@)?)(?=[/?#:]|$)/i, `$1${NO_HOST}`);
}

const NO_HOST = 'no-host.invalid';

function parametersOf(url: URL): [string, string][] {
  const parameters = [...url.searchParams];
  const names = parameters.map(([name]) => name);
  for (const [i, name] of names.entries()) {
    if (!PARAMETERS.includes(name)) throw unknownParameter(name);
    if (names.indexOf(name) !== i)
      throw usageError(`the address of the mirror gives ${name} more than once: give it once`);
  }
  return parameters.filter(([name, value]) => value !== '' || name === 'schema');
}

function unknownParameter(name: string): SyncError {
  const meant = closestName(name, PARAMETERS);
  // Anything but a plain word may be a piece of a password that contains a ?.
  const shown = /^[a-z_]{1,30}$/i.test(name) && meant !== null ? `${name}, did you mean ${meant}?` : null;
  return usageError(
    `the address of the mirror has an unknown parameter${shown === null ? '' : `: ${shown}`} (known: ${PARAMETERS.join(', ')})`,
  );
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    throw usageError(`the address of the mirror in PostgreSQL is not valid: ${ADVICE}`, { cause });
  }
}
