import type { ListedEnvironment } from '../core/schedule/environments.ts';
import type { StreamName } from '../core/stream.ts';
import type { StreamCounters } from './stream-counter.ts';
import type { StreamSummary } from './summary.ts';

/** An event of a run in progress. `Name` is a stream name of the run's catalogue. */
export type RunProgressEvent<Name extends StreamName = StreamName> =
  | {
      readonly type: 'environments';
      readonly environments: readonly ListedEnvironment[];
      readonly missing: readonly ListedEnvironment[];
    }
  | {
      readonly type: 'stream';
      readonly environment: ListedEnvironment;
      readonly stream: Name;
      readonly counters: StreamCounters;
    }
  | {
      /** Messages were delivered to their channels, or not; `error` is the first reason. */
      readonly type: 'alerts';
      readonly delivered: number;
      readonly failed: number;
      readonly error: string | null;
    }
  | {
      readonly type: 'ended';
      readonly environment: ListedEnvironment;
      readonly summary: StreamSummary;
      readonly error: Error | null;
    };
