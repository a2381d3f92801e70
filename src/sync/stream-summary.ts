import { endsRun, isRunRecovery, SyncError } from '../core/errors.ts';
import type { OutstandingCounts } from '../core/ports/destination.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import type { Stream } from '../core/stream.ts';
import { secondsBetween } from '../core/time/instant.ts';
import type { StreamCounters } from './stream-counter.ts';
import type { StreamSummary } from './summary.ts';
import type { StreamOutcome } from './sync-stream.ts';

/** How a stream ended, or the error that ended it. */
export interface StreamResult {
  readonly rest: StreamOutcome | 'unread' | null;
  readonly error: SyncError | null;
}

export async function resultOf(streamSync: Promise<StreamOutcome>): Promise<StreamResult> {
  try {
    return { rest: await streamSync, error: null };
  } catch (error) {
    if (error instanceof SyncError) return { rest: null, error };
    throw error;
  }
}

/** Why a list has failed whose cursor had expired, if the run was stopped before it was read again; else null (R6). */
export function expiredCursorError(expired: SyncError | null, stopped: SyncError | null): SyncError | null {
  const option =
    stopped?.recovery === 'budget' ? '--max-requests' : stopped?.recovery === 'quota' ? '--max-wait' : null;
  if (expired === null || option === null) return null;
  const text = `Its cursor expired between two runs, and this run ended before the list did: raise ${option}, or sync more often.`;
  return new SyncError('stream', text, { cause: expired });
}

interface SummaryInput {
  readonly ending: StreamResult;
  readonly counters: StreamCounters;
  readonly times: { readonly startedAt: string; readonly endedAt: string };
  readonly standing: OutstandingCounts;
}

export function summaryOf(
  environment: ListedEnvironment,
  stream: Stream,
  { ending, counters, times, standing }: SummaryInput,
): StreamSummary {
  const held = standing.heldRemovals;
  const { mode, reason, requests, pages, written, deleted, rejected, late } = counters;
  return {
    env_id: environment.id,
    environment: environment.name,
    stream: stream.name,
    mode,
    reason: mode === 'none' ? restReason(ending) : reason,
    status: statusOf(ending, held),
    requests,
    pages,
    rows_written: written,
    rows_deleted: deleted,
    rows_rejected: rejected,
    rows_late: late,
    rows_held: held,
    rejected_standing: standing.rejected,
    started_at: times.startedAt,
    ended_at: times.endedAt,
    seconds: secondsBetween(times.startedAt, times.endedAt),
    error: problemOf(stream, ending, held),
  };
}

function statusOf({ rest, error }: StreamResult, held: number): StreamSummary['status'] {
  if (error !== null) return error.recovery === 'forbidden' ? 'denied' : endsRun(error) ? 'stopped' : 'failed';
  if (rest === 'waiting' || rest === 'unavailable') return rest;
  if (rest === 'lost') return 'unavailable';
  return held > 0 ? 'held' : 'done';
}

function restReason({ rest, error }: StreamResult): string {
  if (error !== null) return endsRun(error) ? 'not reached' : 'failed';
  if (rest === 'lost') return 'unavailable';
  return rest === 'done' ? 'finished earlier in this cycle' : (rest ?? 'none');
}

function problemOf(stream: Stream, { rest, error }: StreamResult, held: number): string | null {
  // An error that ends the run is reported by the run itself.
  if (error !== null) return isRunRecovery(error.recovery) ? null : error.message;
  if (rest === 'waiting')
    return `waits for the first scan of ${stream.dependencies[0]} to end: see the error of that stream, or sync it as well`;
  if (rest === 'lost')
    return `${stream.method === 'window' ? 'all its histories answer' : 'it answers'} 404 but was live before; its rows stay. Runs exit 1 once it was last read more than --grace ago`;
  if (held === 0) return null;
  return `${held} removals are held back: if the source is right, for example because the token may see fewer assets now, apply them with --allow-shrink; if it returns the rows again, they stay`;
}
