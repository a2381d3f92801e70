import { readFileSync, statSync } from 'node:fs';
import { usageError } from '../core/errors.ts';

/** The contents of pipes and the like, which can be read only once: a second read would block forever. */
const readOnce = new Map<string, string>();

/** Some editors for Windows write one at the beginning. */
const BYTE_ORDER_MARK = /^\uFEFF/;

/** @throws SyncError `usage` if the file cannot be read */
export function readTextFile(path: string): string {
  try {
    const isRegular = statSync(path).isFile();
    const said = isRegular ? undefined : readOnce.get(path);
    if (said !== undefined) return said;
    const text = readFileSync(path, 'utf8').replace(BYTE_ORDER_MARK, '');
    if (!isRegular) readOnce.set(path, text);
    return text;
  } catch (cause) {
    throw usageError(`${path} cannot be read: check the path and its permissions`, { cause });
  }
}
