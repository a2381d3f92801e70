import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { usageError } from '../core/errors.ts';

/** The built page beside the program; from source, the last build's. @throws SyncError `usage` if there is none */
export function builtPage(): string {
  const folder = [join(import.meta.dirname, 'ui'), join(import.meta.dirname, '../../dist/ui')].find(existsSync);
  if (folder !== undefined) return folder;
  throw usageError('the page is missing from this installation: run `npm run build` in its folder, or reinstall it');
}
