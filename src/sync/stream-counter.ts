import type { Round } from '../core/checkpoint.ts';
import type { RowCounts } from '../core/ports/destination.ts';

/** What a run has done to one stream so far. */
export interface StreamCounters extends RowCounts {
  /** The mode of the last round; `none` before the first one. */
  readonly mode: string;
  readonly reason: string;
  readonly requests: number;
  /** A page that is decoded in slices counts with its last one (R27). */
  readonly pages: number;
  /** How many rows the source returned, changed or not. */
  readonly rows: number;
  readonly late: number;
}

type AddedCounts = Partial<Omit<StreamCounters, 'mode' | 'reason'>>;

export type StreamCounter = ReturnType<typeof createStreamCounter>;

/** Counts what a run does to a stream, and reports every change. */
export function createStreamCounter(onChange: (counters: StreamCounters) => void) {
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
  const add = (more: AddedCounts): void => {
    const sums: Partial<Record<keyof AddedCounts, number>> = {};
    for (const [name, count] of Object.entries(more) as [keyof AddedCounts, number][])
      sums[name] = streamCounters[name] + count;
    change(sums);
  };
  return {
    round({ mode, reason }: Pick<Round, 'mode' | 'reason'>): void {
      if (mode !== streamCounters.mode || reason !== streamCounters.reason) change({ mode, reason });
    },
    request: (): void => add({ requests: 1 }),
    add,
    total: (): StreamCounters => streamCounters,
  };
}
