import { SyncError } from '../core/errors.ts';
import { isJsonObject } from '../core/json.ts';
import type { Instant } from '../core/time/instant.ts';
import type { ColumnBounds } from './column-bounds.ts';
import { EXPORT_FORMATS, type ExportFormat } from './formats.ts';
import type { ExportColumn } from './relation.ts';

export const MANIFEST_NAME = 'manifest.json';

/** One file of an export, with the rows of one segment. A table without rows has one, so readers find its columns. */
export interface ExportedFile {
  /** Relative to the folder of the export, with `/`. */
  readonly path: string;
  readonly table: string;
  /** Null for the file of a table without rows. */
  readonly env_id: string | null;
  /** The month of its rows; null for a table without a time. */
  readonly month: string | null;
  /** The first key or `mirrored_at` of the segment; null for the first segment of its partition. */
  readonly from: string | null;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
  /** A fingerprint of the keys and of `mirrored_at`: if it differs, rows have changed (R21). */
  readonly changes: string;
  /** SHA-256 of the rows themselves, independent of the file format. */
  readonly content_sha256: string;
  readonly bounds: ColumnBounds;
  /** The files of the export before that it was made of, without a change; absent for others. */
  readonly joins?: readonly string[];
}

export interface ExportedTable {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly columns: readonly ExportColumn[];
  readonly rows: number;
  readonly bytes: number;
}

/** A run of the mirror. Its nonce is random, so in a mirror restored from a backup the same ids have other nonces. */
export interface MirrorRun {
  readonly id: number;
  readonly nonce: string;
}

/** The content of an export. Whoever reads only what it lists sees complete exports, each of one instant. */
export interface ExportManifest {
  readonly program: typeof PROGRAM;
  /** As `LAYOUT` was when it was written. */
  readonly layout: number;
  readonly format: ExportFormat;
  /** Counts the exports into the folder; one without changes keeps the number. */
  readonly number: number;
  /** The mirror's own time (R21): the newest of its environments. */
  readonly instant: Instant;
  /** The number of the mirror's last migration. */
  readonly schema_version: number;
  /** The mirror's newest run. Exports of an older version lack it. */
  readonly run?: MirrorRun | null;
  /** Whether it was limited to some environments. */
  readonly limited: boolean;
  readonly environments: readonly { readonly env_id: string; readonly instant: Instant | null }[];
  readonly tables: readonly ExportedTable[];
  readonly files: readonly ExportedFile[];
  /** Earlier exports, with their files that are not part of this one. */
  readonly earlier: readonly { readonly instant: Instant; readonly paths: readonly string[] }[];
}

export const PROGRAM = 'obsync export';

/** Raised when the same rows would be written otherwise, or under other names: then no older file is reused. */
export const LAYOUT = 2;

/** @throws SyncError `usage` for a file that is not the manifest of an export of this version */
export function parseManifest(text: string, path: string): ExportManifest {
  const parsed = parsedJson(text);
  if (!isJsonObject(parsed) || parsed['program'] !== PROGRAM || typeof parsed['layout'] !== 'number')
    throw new SyncError('usage', `${path} is not the manifest of an export: name another folder with --to`);
  if (parsed['layout'] > LAYOUT)
    throw new SyncError('usage', `${path} was made by a newer obsync: update obsync, or name another folder`);
  if (!isManifest(parsed))
    throw new SyncError(
      'usage',
      `${path} is malformed: remove ${MANIFEST_NAME} and export again, or name another folder`,
    );
  return parsed as unknown as ExportManifest;
}

type FieldCheck = (value: unknown) => boolean;

const isText: FieldCheck = (value) => typeof value === 'string';

const isCount: FieldCheck = (value) => Number.isSafeInteger(value);

const isTextOrNull: FieldCheck = (value) => value === null || typeof value === 'string';

const listOf =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    Array.isArray(value) && value.every(check);

const shaped =
  (fields: Readonly<Record<string, FieldCheck>>): FieldCheck =>
  (value) =>
    isJsonObject(value) && Object.entries(fields).every(([name, check]) => check(value[name]));

const isMirrorRun = shaped({ id: isCount, nonce: isText });

const isManifest = shaped({
  format: (value) => EXPORT_FORMATS.some((format) => format === value),
  number: isCount,
  instant: isText,
  schema_version: isCount,
  run: (value) => value === undefined || value === null || isMirrorRun(value),
  limited: (value) => typeof value === 'boolean',
  environments: listOf(shaped({ env_id: isText, instant: isTextOrNull })),
  tables: listOf(
    shaped({
      name: isText,
      kind: isText,
      columns: listOf(shaped({ name: isText, type: isText })),
      rows: isCount,
      bytes: isCount,
    }),
  ),
  files: listOf(
    shaped({
      path: isText,
      table: isText,
      env_id: isTextOrNull,
      month: isTextOrNull,
      from: isTextOrNull,
      rows: isCount,
      bytes: isCount,
      sha256: isText,
      changes: isText,
      content_sha256: isText,
      bounds: isJsonObject,
      joins: (value) => value === undefined || listOf(isText)(value),
    }),
  ),
  earlier: listOf(shaped({ instant: isText, paths: listOf(isText) })),
});

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export function manifestText(manifest: ExportManifest): string {
  return `${JSON.stringify(manifest, null, 1)}\n`;
}
