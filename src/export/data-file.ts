import { createHash, hash } from 'node:crypto';
import { type CellRow, checkRows } from './cell.ts';
import { createBounds } from './column-bounds.ts';
import { encoderOf } from './encode.ts';
import type { ExportScope, ExportWork } from './export-work.ts';
import { extensionOf } from './formats.ts';
import type { ExportedFile } from './manifest.ts';
import { FILES_FOLDER, NAME_DIGITS, partitionPath } from './partition-path.ts';
import type { ExportRelation } from './relation.ts';
import { createFingerprint, type ExportSegment } from './segment.ts';

export type DataFile = ReturnType<typeof createDataFile>;

/** Begins a data file. It gets its final name when it is complete. */
export function createDataFile({ folder, scope }: ExportWork, relation: ExportRelation, segment: ExportSegment) {
  const { files } = folder;
  const partition = `${scope.format === 'delta' ? '' : FILES_FOLDER}${partitionPath(relation.name, segment)}`;
  const temporary = folder.begin(partition);
  const encoder = encoderOf(scope, relation);
  const file = files.create(temporary);
  const [measure, bounds] = [createMeasure(relation), createBounds(relation)];
  const whole = createHash('sha256');
  let [bytes, isOpen] = [0, true];
  const close = (): void => {
    if (isOpen) files.close(file);
    isOpen = false;
  };
  const write = (encoded: Uint8Array): void => {
    if (encoded.length === 0) return;
    files.write(file, encoded);
    whole.update(encoded);
    bytes += encoded.length;
  };
  return {
    add(rows: readonly CellRow[]): void {
      checkRows(relation, rows);
      write(encoder.add(rows));
      measure.add(rows);
      bounds.add(rows);
    },
    finish(): ExportedFile {
      write(encoder.end());
      files.sync(file);
      close();
      const sha256 = whole.digest('hex');
      const path = `${partition}/${dataName(scope, sha256)}`;
      folder.complete(temporary, path);
      const { env_id, month, from, joins } = segment;
      const place = { path, table: relation.name, env_id, month, from };
      const digests = { sha256, ...measure.result(), bounds: bounds.result() };
      return { ...place, rows: measure.changes.rows, bytes, ...digests, joins };
    },
    size: () => ({ rows: measure.changes.rows, bytes }),
    /** Closes it and leaves what was written. */
    abandon: close,
  };
}

/** A rewritten segment gets a new name: the last export may be being read. With a nonce, no name is used twice. */
function dataName({ format, nonce }: ExportScope, sha256: string): string {
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
