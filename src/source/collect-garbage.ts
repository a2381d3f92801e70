import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/**
 * Frees unused memory at once. Without it, several pages of tens of MiB would be in memory before any of them is freed,
 * each as bytes, as text and as rows (R27).
 */
export const collectGarbage = runInNewContext('gc') as () => void;
