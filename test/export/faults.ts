import { onTestFinished } from 'vitest';
import { type FileOperations, NODE_FILES } from '../../src/export/export-files.ts';
import { type ExportChoice, exportOf, fillMirror, folder, makeMirror, manifestIn, mirroredAt } from './setup.ts';

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
  const mirror = makeMirror((file) => fillMirror(file, { assets: 10, runs: 60 }));
  onTestFinished(() => void mirror.connection.close());
  const to = folder();
  await exportOf(mirror, to, { tables: SOME, ...choice });
  const first = manifestIn(to);
  mirror.connection.exec(`update mirror_environments set mirrored_at = '${mirroredAt(1)}';
    update assets set name = 'x', mirrored_at = '${mirroredAt(1)}' where env_id = 'e1';
    delete from asset_lineage where env_id = 'e1';
    update test_executions set status = 'ERROR', mirrored_at = '${mirroredAt(1)}' where start_time > '2026-11'`);
  return { mirror, to, first };
}
