import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SyncError } from '../core/errors.ts';

/**
 * The folder of the built page, beside the compiled program. When running from source, the last build is used.
 * @throws SyncError `usage` if the page was not built
 */
export function builtPage(): string {
  const folder = [join(import.meta.dirname, 'ui'), join(import.meta.dirname, '../../dist/ui')].find(existsSync);
  if (folder !== undefined) return folder;
  throw new SyncError(
    'usage',
    'the page is missing from this installation: run `npm run build` in its folder, or reinstall it',
  );
}
