import type { CellRow } from './cell.ts';
import type { SegmentRow, SurveyedSegment } from './segment.ts';

/** Rows of one file that are written together, as one Parquet row group. */
export interface RowBatch {
  readonly surveyed: SurveyedSegment;
  readonly rows: readonly CellRow[];
  /** The lower bound of the file that these rows begin; undefined if they continue the last batch's file. */
  readonly newFileFrom: string | null | undefined;
}

type GrowingBatch = RowBatch & { readonly rows: CellRow[] };

const MAX_ROWS = 10_000;

/** Rows may be large, and a batch must fit into memory several times over. */
const MAX_CHARACTERS = 1024 * 1024;

/**
 * How many files a large table of an environment starts with: few enough rows per file that a change rewrites little.
 */
const FILES = 128;

const MIN_ROWS_OF_FILE = 500;

const MAX_ROWS_OF_FILE = 100_000;

/** How many rows each file gets when a segment is split. */
export function rowsPerFile(rows: number): number {
  return Math.min(MAX_ROWS_OF_FILE, Math.max(MIN_ROWS_OF_FILE, Math.ceil(rows / FILES)));
}

/** Groups rows into batches, and splits a segment with enough rows for two files or more. */
export function* batchesOf(
  segmentRows: Iterable<SegmentRow>,
  cutValue: (row: CellRow) => string,
  fileRows: number,
): Generator<RowBatch> {
  let batch = null as GrowingBatch | null;
  let [inFile, characters, last] = [0, 0, ''];
  for (const [surveyed, row] of segmentRows) {
    const isCuttable = surveyed.rows >= 2 * fileRows;
    const value = isCuttable ? cutValue(row) : '';
    const isNewSegment = batch?.surveyed !== surveyed;
    const isCut = !isNewSegment && isCuttable && inFile >= fileRows && value !== last;
    if (batch === null || isNewSegment || isCut || batch.rows.length >= MAX_ROWS || characters >= MAX_CHARACTERS) {
      if (batch !== null) yield batch;
      batch = { surveyed, rows: [], newFileFrom: isNewSegment ? surveyed.segment.from : isCut ? value : undefined };
      characters = 0;
      if (batch.newFileFrom !== undefined) inFile = 0;
    }
    batch.rows.push(row);
    characters += charactersOf(row);
    inFile += 1;
    last = value;
  }
  if (batch !== null) yield batch;
}

function charactersOf(row: CellRow): number {
  let count = 0;
  for (const value of row) if (typeof value === 'string') count += value.length;
  return count;
}
