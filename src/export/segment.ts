import { hash } from 'node:crypto';
import type { CellRow } from './cell.ts';
import type { ExportedFile } from './manifest.ts';

/** The rows of one file: all of a partition, or those from one key (or day) up to another. */
export interface ExportSegment {
  readonly envId: string;
  readonly month: string | null;
  /** Null for no bound. */
  readonly from: string | null;
  /** The first key or day that no longer belongs to it; null for no bound. */
  readonly to: string | null;
  /** The file that holds it since an earlier export; null for a partition that is new. */
  readonly file: ExportedFile | null;
}

/** A segment as it is in the mirror now. */
export interface SurveyedSegment {
  readonly segment: ExportSegment;
  readonly rows: number;
  readonly changes: string;
}

/** A row with the segment that it belongs to. */
export type SegmentRow = readonly [segment: SurveyedSegment, row: CellRow];

/** Reads the rows of one environment of a relation by segments. */
export interface SegmentReader {
  /** The segments that hold rows now: those of the files, and partitions that have come since. */
  survey(files: readonly ExportedFile[]): SurveyedSegment[];
  /** The rows of these segments, one segment after the other, each in the order of its keys. */
  rows(surveyed: readonly SurveyedSegment[]): Iterable<SegmentRow>;
  /** The value of a row by which its segment may be cut: the first part of its key, or its day. */
  cutValue(row: CellRow): string;
}

/** The segments of one partition: the first one reaches back, and the last one forward, without bounds. */
export function segmentsOf(files: readonly ExportedFile[]): ExportSegment[] {
  return files.map((file, i) => ({
    envId: file.env_id,
    month: file.month,
    from: i === 0 ? null : file.from,
    to: files[i + 1]?.from ?? null,
    file,
  }));
}

/** A partition that no earlier export has. */
export function newPartition(envId: string, month: string | null): ExportSegment {
  return { envId, month, from: null, to: null, file: null };
}

/**
 * Tells whether the rows of a segment have changed: it sums up hashes of their keys and of `mirrored_at`, in whatever
 * order they come. Every commit has a time of its own (R21), so that a changed row never has the hash that it had
 * before.
 */
export interface ChangeFingerprint {
  readonly rows: number;
  add(values: CellRow): void;
  text(): string;
}

export function createFingerprint(): ChangeFingerprint {
  let [rows, sum] = [0, 0];
  return {
    get rows() {
      return rows;
    },
    add(values) {
      rows += 1;
      sum = (sum + hash('sha256', JSON.stringify(values), 'buffer').readUIntBE(0, HASH_BYTES)) % 2 ** (8 * HASH_BYTES);
    },
    text: () => `${rows}-${sum.toString(16).padStart(2 * HASH_BYTES, '0')}`,
  };
}

/** As many as a number holds exactly, with room for a sum of two. */
const HASH_BYTES = 6;

/** Counts rows and says nothing about them. */
function createRowCount(): ChangeFingerprint {
  let rows = 0;
  return {
    get rows() {
      return rows;
    },
    add() {
      rows += 1;
    },
    text: () => '',
  };
}

/** Where there is nothing to compare with, the rows are only counted. */
export function fingerprintFor({ file }: ExportSegment): ChangeFingerprint {
  return file === null ? createRowCount() : createFingerprint();
}
