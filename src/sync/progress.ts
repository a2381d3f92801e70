import type { Environment } from '../core/environments.ts';
import type { StreamName } from '../core/stream.ts';
import type { StreamSummary } from './summary.ts';
import type { Tallied } from './tally.ts';

/** What a run tells while it goes on. */
export type Progress =
  | {
      readonly type: 'environments';
      readonly environments: readonly Environment[];
      readonly missing: readonly Environment[];
    }
  | {
      readonly type: 'stream';
      readonly environment: Environment;
      readonly stream: StreamName;
      readonly tallied: Tallied;
    }
  | {
      readonly type: 'ended';
      readonly environment: Environment;
      readonly summary: StreamSummary;
      readonly error: Error | null;
    };
