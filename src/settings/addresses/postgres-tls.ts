import type { ClientConfig } from 'pg';
import { usageError } from '../../core/errors.ts';
import { readPem } from '../read-certificates.ts';
import { readTextFile } from '../read-text-file.ts';

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;

/** The system's certificates, as PostgreSQL's own programs name them. */
const SYSTEM = 'system';

/**
 * How the connection is encrypted, in the terms of PostgreSQL's own programs. `allow` and `prefer` guarantee no
 * encryption, and get none.
 * @throws SyncError `usage`
 */
export function tlsOptions(find: (name: string) => string | undefined): NonNullable<ClientConfig['ssl']> {
  const root = find('sslrootcert');
  const mode = modeOf(find);
  if (!MODES.some((known) => known === mode))
    throw usageError(`sslmode is not valid: choose one of ${MODES.join(', ')}`);
  if (!isEncrypted(mode)) return false;
  const [certificate, key] = [find('sslcert'), find('sslkey')];
  return {
    ...(root === undefined || root === SYSTEM ? {} : { ca: readPem(root) }),
    ...(certificate === undefined ? {} : { cert: readTextFile(certificate) }),
    ...(key === undefined ? {} : { key: readTextFile(key) }),
    ...verification(mode, root),
  };
}

/**
 * The mode for other programs with libpq; undefined if it is left to them. They find the certificate to check against
 * by themselves, or refuse to connect: a file may not exist there, and not every libpq finds those of the system.
 */
export function libpqSslMode(find: (name: string) => string | undefined): string | undefined {
  const root = find('sslrootcert');
  if (find('sslmode') === undefined && root !== SYSTEM) return undefined;
  const mode = modeOf(find);
  return mode === 'require' && root !== undefined ? 'verify-ca' : mode;
}

/** Whether rows, and perhaps the password, travel unencrypted to another host without an explicit `sslmode=disable`. */
export function isUnencryptedRemote(host: string, find: (name: string) => string | undefined): boolean {
  const mode = modeOf(find);
  return mode !== 'disable' && !isEncrypted(mode) && !THIS_MACHINE.test(host);
}

/** A socket folder, or an address whose packets never leave the machine. */
const THIS_MACHINE = /^(\/.*|localhost|127\.\d+\.\d+\.\d+|::1)$/i;

function modeOf(find: (name: string) => string | undefined): string {
  return find('sslmode') ?? (find('sslrootcert') === SYSTEM ? 'verify-full' : 'prefer');
}

function isEncrypted(mode: string): boolean {
  return /^require$|^verify-/.test(mode);
}

/** With a certificate to check against, `require` checks the server like `verify-ca`. */
function verification(mode: string, root: string | undefined): object {
  if (mode === 'verify-full') return {};
  if (root === SYSTEM)
    throw usageError('sslrootcert=system needs sslmode=verify-full: anyone can get such a certificate');
  if (root !== undefined) return { checkServerIdentity: () => undefined };
  if (mode === 'require') return { rejectUnauthorized: false };
  throw usageError('sslmode=verify-ca needs sslrootcert=FILE, the certificate to check the server against');
}
