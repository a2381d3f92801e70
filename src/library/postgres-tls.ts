import type { ClientConfig } from 'pg';
import { SyncError } from '../core/errors.ts';
import { readTextFile } from './read-text-file.ts';

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;

/** Certificates of the system, as PostgreSQL's own programs name them. */
const SYSTEM = 'system';

/**
 * How the connection is encrypted, with the words of PostgreSQL's own programs. `allow` and `prefer` promise no encryption, and get none.
 * @throws SyncError `usage`
 */
export function tlsOptions(find: (name: string) => string | undefined): NonNullable<ClientConfig['ssl']> {
  const root = find('sslrootcert');
  const mode = find('sslmode') ?? (root === SYSTEM ? 'verify-full' : 'prefer');
  if (!MODES.some((known) => known === mode))
    throw new SyncError('usage', `sslmode is not valid: choose one of ${MODES.join(', ')}`);
  if (!/^require$|^verify-/.test(mode)) return false;
  const [certificate, key] = [find('sslcert'), find('sslkey')];
  return {
    ...(root === undefined || root === SYSTEM ? {} : { ca: readTextFile(root) }),
    ...(certificate === undefined ? {} : { cert: readTextFile(certificate) }),
    ...(key === undefined ? {} : { key: readTextFile(key) }),
    ...verification(mode, root),
  };
}

/** With a certificate to check against, `require` checks the server as `verify-ca` does. */
function verification(mode: string, root: string | undefined): object {
  if (mode === 'verify-full') return {};
  if (root === SYSTEM)
    throw new SyncError('usage', 'sslrootcert=system needs sslmode=verify-full: anyone can get such a certificate');
  if (root !== undefined) return { checkServerIdentity: () => undefined };
  if (mode === 'require') return { rejectUnauthorized: false };
  throw new SyncError('usage', 'sslmode=verify-ca needs sslrootcert=FILE, the certificate to check the server against');
}
