import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SyncError } from '../core/errors.ts';

/**
 * Where the build puts the page: beside the compiled program. The sources themselves use what was built last.
 * @throws SyncError `usage` if it was not built
 */
export function builtPage(): string {
  const folder = [join(import.meta.dirname, 'ui'), join(import.meta.dirname, '../../dist/ui')].find(existsSync);
  if (folder !== undefined) return folder;
  throw new SyncError(
    'usage',
    'this installation lacks the page: run `npm run build` in its folder, or install it again',
  );
}
