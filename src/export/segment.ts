import { hash } from 'node:crypto';
import type { CellRow } from './cell.ts';
import type { ExportedFile } from './manifest.ts';

/** The rows of one file: a whole partition, or from one key up to another; of a history, from one `mirrored_at`. */
export interface ExportSegment {
  /** Null for the file of a table without rows. */
  readonly env_id: string | null;
  readonly month: string | null;
  /** Null for no bound. */
  readonly from: string | null;
  /** The first key or time after the segment; null for no bound. */
  readonly to: string | null;
  /** The file of an earlier export that holds it; null for a new partition. */
  readonly file: ExportedFile | null;
  /** The files of the last export whose rows it has, exactly; only if unchanged segments were joined. */
  readonly joins?: readonly string[] | undefined;
}

/** A segment as it is in the mirror now. */
export interface SurveyedSegment extends ExportSegment {
  readonly rows: number;
  readonly changes: string;
}

export type SegmentRow = readonly [segment: SurveyedSegment, row: CellRow];

/** Reads the rows of one environment of a relation, segment by segment. */
export interface SegmentReader {
  /** The segments that hold rows now: those of the files, and partitions added since. */
  survey(files: readonly ExportedFile[]): SurveyedSegment[];
  /** The rows of these segments, one segment after the other, each in key order. */
  rows(surveyed: readonly SurveyedSegment[]): Iterable<SegmentRow>;
  /** The value by which a segment may be split: the first part of a row's key, or its `mirrored_at`; null for none. */
  cutValue(row: CellRow): string | null;
}

/** The segments of one partition; the first and the last one are open-ended. */
export function segmentsOf(files: readonly ExportedFile[]): ExportSegment[] {
  return files.map((file, i) => ({
    ...newPartition(file.env_id, file.month),
    from: i === 0 ? null : file.from,
    to: files[i + 1]?.from ?? null,
    file,
  }));
}

/** A partition that is in no earlier export. */
export function newPartition(env_id: string | null, month: string | null): ExportSegment {
  return { env_id, month, from: null, to: null, file: null };
}

/** Compares by month, then by range, in SQLite's order, which compares bytes; null comes first. */
export function inPlace(a: Pick<ExportSegment, 'month' | 'from'>, b: typeof a): number {
  return compare(a.month, b.month) || compare(a.from, b.from);
}

function compare(a: string | null, b: string | null): number {
  return Buffer.compare(Buffer.from(a ?? ''), Buffer.from(b ?? ''));
}

/**
 * Detects whether the rows of a segment have changed: the sum of hashes of their keys and of `mirrored_at`, independent
 * of their order. Every commit has a time of its own (R21), so a changed row never has its old hash. Without an earlier
 * file to compare with, rows need only be counted.
 */
export function createFingerprint(isCompared = true) {
  let [rows, sum] = [0, 0];
  return {
    get rows() {
      return rows;
    },
    add(values: CellRow): void {
      rows += 1;
      if (isCompared)
        sum =
          (sum + hash('sha256', JSON.stringify(values), 'buffer').readUIntBE(0, HASH_BYTES)) % 2 ** (8 * HASH_BYTES);
    },
    text: (): string => (isCompared ? `${rows}-${sum.toString(16).padStart(2 * HASH_BYTES, '0')}` : ''),
  };
}

/** As many bytes as a number holds exactly, with room for the sum of two. */
const HASH_BYTES = 6;
