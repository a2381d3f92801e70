import { join } from 'node:path';
import { usageError } from '../core/errors.ts';
import { isJsonObject } from '../core/json.ts';
import type { ColumnBounds } from './column-bounds.ts';
import { readTextOf } from './export-files.ts';
import { EXPORT_FORMATS, type ExportFormat } from './formats.ts';
import type { ColumnType } from './relation.ts';

export const MANIFEST_NAME = 'manifest.json';

export const PROGRAM = 'obsync export';

/** Raised when the same rows would be written otherwise, or under other names: then no older file is reused. */
export const LAYOUT = 2;

/** Whether a field of a manifest may be read. The types below are derived from these checks. */
type FieldCheck<T> = (value: unknown) => value is T;

type CheckedBy<Check> = Check extends FieldCheck<infer T> ? T : never;

const isText = (value: unknown): value is string => typeof value === 'string';

const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';

const isCount = (value: unknown): value is number => Number.isSafeInteger(value);

const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value);

const optional =
  <T>(check: FieldCheck<T>) =>
  (value: unknown): value is T | undefined =>
    value === undefined || check(value);

const listOf =
  <T>(check: FieldCheck<T>) =>
  (value: unknown): value is readonly T[] =>
    Array.isArray(value) && value.every(check);

const shaped =
  <Fields extends Readonly<Record<string, FieldCheck<unknown>>>>(fields: Fields) =>
  (value: unknown): value is { readonly [Name in keyof Fields]: CheckedBy<Fields[Name]> } =>
    isJsonObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]));

const isExportedFile = shaped({
  /** Relative to the folder of the export, with `/`. */
  path: isText,
  table: isText,
  /** Null for the file of a table without rows. */
  env_id: isTextOrNull,
  /** The month of its rows; null for a table without a time. */
  month: isTextOrNull,
  /** The first key or `mirrored_at` of the segment; null for the first segment of its partition. */
  from: isTextOrNull,
  rows: isCount,
  bytes: isCount,
  sha256: isText,
  /** A fingerprint of the keys and of `mirrored_at`: if it differs, rows have changed (R21). */
  changes: isText,
  /** SHA-256 of the rows themselves, independent of the file format. */
  content_sha256: isText,
  bounds: isJsonObject as FieldCheck<ColumnBounds>,
  /** The files of the export before that it was made of, without a change; absent for others. */
  joins: optional(listOf(isText)),
});

const isExportedTable = shaped({
  name: isText,
  kind: isText as FieldCheck<'table' | 'view'>,
  columns: listOf(shaped({ name: isText, type: isText as FieldCheck<ColumnType> })),
  rows: isCount,
  bytes: isCount,
});

const isMirrorRun = shaped({ id: isCount, nonce: isText });

const isManifest = shaped({
  program: (value): value is typeof PROGRAM => value === PROGRAM,
  /** As `LAYOUT` was when it was written. */
  layout: isCount,
  format: (value): value is ExportFormat => EXPORT_FORMATS.some((format) => format === value),
  /** Counts the exports into the folder; one without changes keeps the number. */
  number: isCount,
  /** The mirror's own time (R21): the newest of its environments. */
  instant: isText,
  /** The number of the mirror's last migration. */
  schema_version: isCount,
  /** The mirror's newest run. Exports of an older version lack it. */
  run: (value): value is MirrorRun | null | undefined => value === undefined || value === null || isMirrorRun(value),
  /** Whether it was limited to some environments. */
  limited: isFlag,
  /** With the mirror's own time in each (R21). */
  environments: listOf(shaped({ env_id: isText, instant: isTextOrNull })),
  tables: listOf(isExportedTable),
  files: listOf(isExportedFile),
  /** Earlier exports, with their files that are not part of this one. */
  earlier: listOf(shaped({ instant: isText, paths: listOf(isText) })),
});

/** One file of an export, with the rows of one segment. A table without rows has one, so readers find its columns. */
export type ExportedFile = CheckedBy<typeof isExportedFile>;

export type ExportedTable = CheckedBy<typeof isExportedTable>;

/** A run of the mirror. Its nonce is random, so in a mirror restored from a backup the same ids have other nonces. */
export type MirrorRun = CheckedBy<typeof isMirrorRun>;

/** The content of an export. Whoever reads only what it lists sees complete exports, each of one instant. */
export type ExportManifest = CheckedBy<typeof isManifest>;

/**
 * The manifest of the export in a folder; null before the first one.
 * @throws SyncError `usage` for a file that is not the manifest of an export of this version
 */
export function readManifest(folder: string): ExportManifest | null {
  const path = join(folder, MANIFEST_NAME);
  const text = readTextOf(path);
  if (text === null) return null;
  const parsed = parsedJson(text);
  if (!isJsonObject(parsed) || parsed['program'] !== PROGRAM || typeof parsed['layout'] !== 'number')
    throw usageError(`${path} is not the manifest of an export: name another folder with --to`);
  if (parsed['layout'] > LAYOUT)
    throw usageError(`${path} was made by a newer obsync: update obsync, or name another folder`);
  if (!isManifest(parsed))
    throw usageError(`${path} is malformed: remove ${MANIFEST_NAME} and export again, or name another folder`);
  return parsed;
}

/** The value of a JSON text; null for any other text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export function manifestText(manifest: ExportManifest): string {
  return `${JSON.stringify(manifest, null, 1)}\n`;
}
