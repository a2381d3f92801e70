import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/**
 * Frees what is no longer needed, at once. Left to itself, the memory would hold several pages of tens of MiB, each as bytes,
 * as text and as rows, before any of them is freed (R27).
 */
export const collectGarbage = runInNewContext('gc') as () => void;
