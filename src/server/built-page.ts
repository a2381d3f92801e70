import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where the build puts the page: beside the compiled program. The sources themselves use what was built last. */
export const BUILT_PAGE =
  [join(import.meta.dirname, 'ui'), join(import.meta.dirname, '../../dist/ui')].find((folder) => existsSync(folder)) ??
  'ui';
