import type { ExportScope } from './export-work.ts';
import { type ExportedFile, type ExportManifest, LAYOUT, manifestText, PROGRAM } from './manifest.ts';
import { isHidden } from './partition-path.ts';

/** The manifest of an export of these files; the last one, with the last number, if nothing has changed. */
export function manifestOf(
  { format, instant, schema_version, run, limited, environments, relations, keep }: ExportScope,
  files: readonly ExportedFile[],
  previous: ExportManifest | null,
  number: number,
): ExportManifest {
  const byTable = Map.groupBy(files, ({ table }) => table);
  const manifest = {
    program: PROGRAM,
    layout: LAYOUT,
    format,
    number,
    instant,
    schema_version,
    run,
    limited,
    environments,
    tables: relations.map(({ name, kind, columns }) => ({
      name,
      kind,
      columns,
      rows: sumOfFiles(byTable.get(name) ?? [], 'rows'),
      bytes: sumOfFiles(byTable.get(name) ?? [], 'bytes'),
    })),
    files,
    earlier: [],
  } satisfies ExportManifest;
  const isSame = previous !== null && manifestText(manifest) === manifestText({ ...previous, earlier: [] });
  const earlier = isSame ? previous.earlier : earlierExports(manifest, previous);
  return { ...manifest, number: isSame ? number : number + 1, earlier: earlier.slice(0, keep) };
}

/** The earlier exports, latest first, each with its files that are not part of the new one. */
function earlierExports({ files, format }: ExportManifest, previous: ExportManifest | null): ExportManifest['earlier'] {
  if (previous?.layout !== LAYOUT) return [];
  const current = new Set(files.map(({ path }) => path));
  // In the folder of a table, only readers of Delta tables skip the files of earlier exports.
  const mayStay = (path: string): boolean => format === 'delta' || isHidden(path);
  return [{ instant: previous.instant, paths: previous.files.map(({ path }) => path) }, ...previous.earlier].map(
    ({ instant, paths }) => ({ instant, paths: paths.filter((path) => mayStay(path) && !current.has(path)) }),
  );
}

/** The files of an export and of the earlier ones that it keeps. */
export function pathsOf(manifest: ExportManifest | null): Set<string> {
  if (manifest === null) return new Set();
  return new Set([...manifest.files.map(({ path }) => path), ...manifest.earlier.flatMap(({ paths }) => paths)]);
}

/** Finds the files of a table in an environment; in null, the one of a table without rows. */
export function findFiles(
  files: readonly ExportedFile[],
): (table: string, envId: string | null) => readonly ExportedFile[] {
  const key = (table: string, envId: string | null): string => JSON.stringify([table, envId]);
  const groups = Map.groupBy(files, ({ table, env_id }) => key(table, env_id));
  return (table, envId) => groups.get(key(table, envId)) ?? [];
}

export function sumOfFiles(files: readonly ExportedFile[], field: 'rows' | 'bytes'): number {
  return files.reduce((sum, file) => sum + file[field], 0);
}

/** What the previous export had and this one lacks, because less was requested or the mirror no longer has it. */
export function droppedParts(manifest: ExportManifest, previous: ExportManifest | null) {
  const tables = new Set(manifest.tables.map(({ name }) => name));
  const environments = new Set(manifest.environments.map(({ env_id }) => env_id));
  const { tables: tablesBefore = [], environments: environmentsBefore = [], files = [] } = previous ?? {};
  return {
    tables: tablesBefore.map(({ name }) => name).filter((name) => !tables.has(name)),
    environments: environmentsBefore.map(({ env_id }) => env_id).filter((envId) => !environments.has(envId)),
    fileCount: files.filter(({ table, env_id }) => !tables.has(table) || (env_id !== null && !environments.has(env_id)))
      .length,
  };
}
