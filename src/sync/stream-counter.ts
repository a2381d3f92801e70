import type { Round } from '../core/checkpoint.ts';
import type { RowCounts } from '../core/ports/destination.ts';

/** What a run has done to one stream so far. */
export interface StreamCounters extends RowCounts {
  /** The mode of the last round; `none` before the first one. */
  readonly mode: string;
  readonly reason: string;
  readonly requests: number;
  readonly pages: number;
  /** How many rows the source returned, changed or not. */
  readonly rows: number;
  readonly late: number;
}

/** Counts what a run does to a stream, and reports every change. */
export interface StreamCounter {
  round(round: Pick<Round, 'mode' | 'reason'>): void;
  request(this: void): void;
  /** Counts a page, or a slice of a heavy page; `pages` is 1 only for the last slice. */
  slice(shown: Pick<StreamCounters, 'pages' | 'rows' | 'late'>): void;
  count(counts: RowCounts): void;
  total(): StreamCounters;
}

export function createStreamCounter(onChange: (counters: StreamCounters) => void): StreamCounter {
  let streamCounters: StreamCounters = {
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
  const change = (part: Partial<StreamCounters>): void => {
    streamCounters = { ...streamCounters, ...part };
    onChange(streamCounters);
  };
  return {
    round: ({ mode, reason }) => {
      if (mode !== streamCounters.mode || reason !== streamCounters.reason) change({ mode, reason });
    },
    request: () => change({ requests: streamCounters.requests + 1 }),
    slice: ({ pages, rows, late }) =>
      change({
        pages: streamCounters.pages + pages,
        rows: streamCounters.rows + rows,
        late: streamCounters.late + late,
      }),
    count: ({ written, deleted, rejected }) =>
      change({
        written: streamCounters.written + written,
        deleted: streamCounters.deleted + deleted,
        rejected: streamCounters.rejected + rejected,
      }),
    total: () => streamCounters,
  };
}
