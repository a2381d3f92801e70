import type { CellRow } from './cell.ts';
import type { SegmentReader, SegmentRow, SurveyedSegment } from './segment.ts';

/** Rows of one file that are written together, as one Parquet row group. */
export interface RowBatch {
  readonly surveyed: SurveyedSegment;
  readonly rows: readonly CellRow[];
  /** The lower bound of the file that these rows begin; undefined if they continue the last batch's file. */
  readonly newFileFrom: string | null | undefined;
}

const MAX_ROWS = 10_000;

/** Rows may be large, and a batch must fit into memory several times over. */
const MAX_CHARACTERS = 1024 * 1024;

/**
 * Groups rows into batches, and splits a segment where its file is full.
 * @param isFull whether the file with the batches so far is large enough, if this many rows of the segment are left
 */
export function* batchesOf(
  segmentRows: Iterable<SegmentRow>,
  cutValue: SegmentReader['cutValue'],
  isFull: (rowsLeft: number) => boolean,
): Generator<RowBatch> {
  let batch = null as (RowBatch & { readonly rows: CellRow[] }) | null;
  let [inSegment, characters, last] = [0, 0, null as string | null];
  for (const [surveyed, row] of segmentRows) {
    const value = cutValue(row);
    const isNewSegment = batch?.surveyed !== surveyed;
    if (isNewSegment) inSegment = 0;
    // The file of a first batch is not there yet.
    const isCuttable = !isNewSegment && batch?.newFileFrom === undefined && value !== last;
    const isCut = isCuttable && isFull(surveyed.rows - inSegment);
    if (batch === null || isNewSegment || isCut || batch.rows.length >= MAX_ROWS || characters >= MAX_CHARACTERS) {
      if (batch !== null) yield batch;
      batch = { surveyed, rows: [], newFileFrom: isNewSegment ? surveyed.from : isCut ? value : undefined };
      characters = 0;
    }
    batch.rows.push(row);
    characters += charactersOf(row);
    inSegment += 1;
    last = value;
  }
  if (batch !== null) yield batch;
}

function charactersOf(row: CellRow): number {
  let count = 0;
  for (const value of row) if (typeof value === 'string') count += value.length;
  return count;
}
