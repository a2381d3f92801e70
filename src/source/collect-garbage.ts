import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/**
 * Frees unused memory at once. Otherwise several pages of tens of MiB would be in memory together, each as bytes, text
 * and rows (R27).
 */
export const collectGarbage = runInNewContext('gc') as () => void;
