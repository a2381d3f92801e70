import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { type FileOperations, NODE_FILES } from '../../src/export/export-files.ts';
import { change, type ExportChoice, exportOf, folder, manifestIn, smallMirror } from './setup.ts';

/** Calls `before` before every operation that changes something. */
export function watched(before: (operation: keyof FileOperations, args: readonly unknown[]) => void): FileOperations {
  const { sha256, ...changing } = NODE_FILES;
  const watching = Object.fromEntries(
    Object.entries(changing).map(([name, operation]: [string, (...args: never[]) => unknown]) => [
      name,
      (...args: never[]) => {
        before(name as keyof FileOperations, args);
        return operation(...args);
      },
    ]),
  ) as unknown as Omit<FileOperations, 'sha256'>;
  return { ...watching, sha256 };
}

/** Does nothing from the `n`th operation on, as if the process was killed. A write there is done by half. */
export function killedAt(n: number): FileOperations {
  let count = 0;
  return watched((operation, args) => {
    count += 1;
    if (count === n && operation === 'write')
      NODE_FILES.write(args[0] as number, (args[1] as Uint8Array).subarray(0, 9));
    if (count >= n) throw new Error('killed');
  });
}

/** Makes only the `n`th operation, of all or of one kind, fail with a system error. */
export function failingAt(n: number, code: string, only?: keyof FileOperations): FileOperations {
  let count = 0;
  return watched((operation) => {
    if (only !== undefined && operation !== only) return;
    count += 1;
    if (count === n) throw Object.assign(new Error(code), { code, syscall: operation });
  });
}

/** Makes only the `n`th write fail because the disk is full. */
export const fullAt = (n: number): FileOperations => failingAt(n, 'ENOSPC', 'write');

export const SOME = ['assets', 'test_executions', 'asset_lineage'];

/** A mirror that changed after its export. */
export async function changedSince(choice: ExportChoice = {}) {
  const [mirror, to] = [smallMirror(), folder()];
  await exportOf(mirror, to, { tables: SOME, ...choice });
  const first = manifestIn(to);
  change(mirror);
  return { mirror, to, first };
}

/** How many operations the export after a change makes, of all or of one kind. */
export async function countOperations(choice: ExportChoice = {}, only?: keyof FileOperations): Promise<number> {
  const { mirror, to } = await changedSince(choice);
  let count = 0;
  const counting = watched((operation) => {
    if (only === undefined || operation === only) count += 1;
  });
  await exportOf(mirror, to, { tables: SOME, ...choice }, counting);
  return count;
}

export function copyOf(to: string): string {
  const copy = join(folder(), 'copy');
  cpSync(to, copy, { recursive: true });
  return copy;
}
