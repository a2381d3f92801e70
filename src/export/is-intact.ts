import { join } from 'node:path';
import { type FileOperations, isSystemError, sizeOf } from './export-files.ts';
import type { ExportedFile } from './manifest.ts';

/** Whether a file still has the bytes that were written. */
export async function isIntact(
  folder: string,
  { path, bytes, sha256 }: ExportedFile,
  files: Pick<FileOperations, 'sha256'>,
): Promise<boolean> {
  const whole = join(folder, path);
  try {
    return sizeOf(whole) === bytes && (await files.sha256(whole)) === sha256;
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}
