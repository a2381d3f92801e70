import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesUnder } from '../../src/export/export-files.ts';
import type { ExportedFile, ExportManifest } from '../../src/export/manifest.ts';
import { tableFiles } from '../../src/export/table-folders.ts';
import { createMemoryStore, type MemoryStore } from './memory-store.ts';

/** The SHA-256 of what readers find without a manifest. Names of data files are unique, and addresses differ. */
export function visibleIn({ objects }: MemoryStore): Record<string, string> {
  return digestsOf([...objects].map(([path, { bytes }]) => [path, bytes] as const));
}

export function visibleUnder(to: string): Record<string, string> {
  return digestsOf(filesUnder(to).map((path) => [path, readFileSync(join(to, path))] as const));
}

function digestsOf(files: readonly (readonly [string, Uint8Array])[]): Record<string, string> {
  const visible = files.filter(([path]) => /^\w+\/(?!_delta_log).*part-/.test(path));
  return Object.fromEntries(visible.map(([path, bytes]) => [path, hash('sha256', bytes)] as const).sort());
}

/** The files of a manifest without their names. */
export const unnamed = ({ files, tables }: ExportManifest): object => ({
  tables,
  files: files.map(({ path, ...file }) => file),
});

export const manifestOf = ({ objects }: MemoryStore): ExportManifest =>
  JSON.parse(Buffer.from(objects.get('manifest.json')?.bytes ?? []).toString()) as ExportManifest;

/** The files of the manifest that are missing or differ, and with `inFolders` those in the folders of the tables. */
export function brokenObjects(store: MemoryStore, { inFolders = false } = {}): string[] {
  const manifest = manifestOf(store);
  const wanted = [...manifest.files, ...(inFolders ? named(manifest) : [])];
  const digest = (path: string): string => hash('sha256', store.objects.get(path)?.bytes ?? '');
  return wanted.filter(({ path, sha256 }) => digest(path) !== sha256).map(({ path }) => path);
}

const named = (manifest: ExportManifest): ExportedFile[] =>
  [...tableFiles(manifest)].map(([path, file]) => ({ ...file, path }));

export async function operationsOf(store: MemoryStore, action: () => Promise<unknown>): Promise<string[]> {
  const operations: string[] = [];
  store.before = (operation, path) => void operations.push(`${operation} ${path}`);
  await action();
  store.before = () => {};
  return operations;
}

export const copyOf = (store: MemoryStore): MemoryStore => createMemoryStore(store.objects);

/** Makes the `n`th operation of a store and all later ones fail, as if the process was killed. */
export function killAt(store: MemoryStore, n: number): void {
  let count = 0;
  store.before = () => {
    count += 1;
    if (count >= n) throw new Error('killed');
  };
}

/** Runs an action before the `n`th operation of a store. */
export function interposeAt(store: MemoryStore, n: number, action: () => Promise<unknown>): void {
  let count = 0;
  store.before = async () => {
    count += 1;
    if (count === n) await action();
  };
}
