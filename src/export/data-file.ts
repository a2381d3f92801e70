import { createHash, hash } from 'node:crypto';
import { join } from 'node:path';
import type { CellRow } from './cell.ts';
import { createBounds } from './column-bounds.ts';
import { encoderOf } from './encode.ts';
import type { ExportFolder } from './export-folder.ts';
import { extensionOf } from './formats.ts';
import type { ExportedFile } from './manifest.ts';
import { FILES_FOLDER, NAME_DIGITS, partitionPath } from './partition-path.ts';
import type { ExportRelation } from './relation.ts';
import { createFingerprint, type ExportSegment } from './segment.ts';

/** An unfinished data file. It gets its final name when it is complete. */
export interface DataFile {
  add(rows: readonly CellRow[]): void;
  finish(): ExportedFile;
  size(): Pick<ExportedFile, 'rows' | 'bytes'>;
  /** Closes it and leaves what was written. */
  abandon(): void;
}

export interface DataFilePlace {
  readonly exportRelation: ExportRelation;
  readonly segment: ExportSegment;
  readonly from: string | null;
}

export function createDataFile(folder: ExportFolder, { exportRelation, segment, from }: DataFilePlace): DataFile {
  const isDelta = folder.format === 'delta';
  const partition = `${isDelta ? '' : FILES_FOLDER}${partitionPath(exportRelation.name, segment)}`;
  const temporary = folder.begin(partition);
  const encoder = encoderOf(folder.format, exportRelation, folder);
  const file = folder.files.create(temporary);
  const [measure, bounds] = [createMeasure(exportRelation), createBounds(exportRelation)];
  const [whole, size] = [createHash('sha256'), { bytes: 0 }];
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    folder.files.close(file);
  };
  const write = (bytes: Uint8Array): void => {
    if (bytes.length === 0) return;
    folder.files.write(file, bytes);
    whole.update(bytes);
    size.bytes += bytes.length;
  };
  return {
    add(rows) {
      write(encoder.add(rows));
      measure.add(rows);
      bounds.add(rows);
    },
    finish() {
      write(encoder.end());
      folder.files.sync(file);
      close();
      const sha256 = whole.digest('hex');
      const path = `${partition}/${dataName(folder, sha256)}`;
      folder.files.rename(temporary, join(folder.path, path));
      folder.created(path);
      const place = { path, table: exportRelation.name, env_id: segment.env_id, month: segment.month, from };
      const digests = { sha256, ...measure.result(), bounds: bounds.result() };
      const joins = segment.joins.length > 0 ? segment.joins : undefined;
      return { ...place, rows: measure.changes.rows, bytes: size.bytes, ...digests, joins };
    },
    size: () => ({ rows: measure.changes.rows, bytes: size.bytes }),
    abandon: close,
  };
}

/** A rewritten segment gets a new name: the last export may be being read. With a nonce, no name is used twice. */
function dataName({ format, nonce }: ExportFolder, sha256: string): string {
  const digits = (nonce === null ? sha256 : hash('sha256', `${nonce} ${sha256}`)).slice(0, NAME_DIGITS);
  if (format !== 'delta') return digits;
  return `${nonce === null ? 'part' : 'data'}-${digits}.${extensionOf(format)}`;
}

/** The two digests of a file's rows: of the columns that show changes, and of the whole content. */
export function createMeasure({ columns, changeColumns }: ExportRelation) {
  const [changes, content] = [createFingerprint(), createHash('sha256')];
  const at = changeColumns.map((name) => columns.findIndex((column) => column.name === name));
  return {
    changes,
    add(rows: readonly CellRow[]): void {
      for (const row of rows) changes.add(at.map((i) => row[i] ?? null));
      // One by one: together they would be another copy of the batch.
      for (const row of rows) content.update(`${JSON.stringify(row)}\n`);
    },
    result: () => ({ changes: changes.text(), content_sha256: content.digest('hex') }),
  };
}
