import type { Round } from '../core/checkpoint.ts';
import type { Counts } from '../core/destination.ts';

/** What a run has done to one stream so far. */
export interface Tallied extends Counts {
  /** Of the last round; `none` before one has begun. */
  readonly mode: string;
  readonly reason: string;
  readonly requests: number;
  readonly pages: number;
  /** Rows shown by the source, changed or not. */
  readonly rows: number;
  readonly late: number;
}

/** Counts a stream's work and tells of every change. */
export interface Tally {
  round(round: Pick<Round, 'mode' | 'reason'>): void;
  request(this: void): void;
  /** A page, or a slice of a heavy one: then `pages` is 0 but for its last. */
  slice(shown: Pick<Tallied, 'pages' | 'rows' | 'late'>): void;
  count(counts: Counts): void;
  total(): Tallied;
}

export function createTally(onChange: (tallied: Tallied) => void): Tally {
  let tallied: Tallied = {
    mode: 'none',
    reason: 'none',
    requests: 0,
    pages: 0,
    rows: 0,
    late: 0,
    written: 0,
    deleted: 0,
    rejected: 0,
  };
  const change = (part: Partial<Tallied>): void => {
    tallied = { ...tallied, ...part };
    onChange(tallied);
  };
  return {
    round: ({ mode, reason }) => {
      if (mode !== tallied.mode || reason !== tallied.reason) change({ mode, reason });
    },
    request: () => change({ requests: tallied.requests + 1 }),
    slice: ({ pages, rows, late }) =>
      change({ pages: tallied.pages + pages, rows: tallied.rows + rows, late: tallied.late + late }),
    count: ({ written, deleted, rejected }) =>
      change({
        written: tallied.written + written,
        deleted: tallied.deleted + deleted,
        rejected: tallied.rejected + rejected,
      }),
    total: () => tallied,
  };
}
