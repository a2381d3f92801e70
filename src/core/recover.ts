import { phasesAfter } from './advance.ts';
import { type Checkpoint, type Read, type Round, withoutRound } from './checkpoint.ts';
import type { Context } from './context.ts';
import type { SyncError } from './errors.ts';
import type { Stream } from './stream.ts';

/**
 * What becomes of a stream whose fetch failed:
 * - `retry`: go on from the checkpoint at once
 * - `fail`: the stream failed; the checkpoint says where the next run begins
 * - `unavailable`: the service says that the stream is not live; its rows stay (R15)
 */
export interface Recovered {
  readonly outcome: 'retry' | 'fail' | 'unavailable';
  readonly checkpoint: Checkpoint;
  /** What was seen or gathered and no longer counts: a read's number, or all of the round. */
  readonly forget: number | 'all' | null;
}

/** Starts of one read in one run after `invalid_cursor` (R7). */
export const MAX_RESTARTS = 3;

/** So many tests in a row without a history, and none with one: the histories are not live (R15). */
const MAX_MISSES = 20;

/** Decides, on the kind of failure alone, how a stream goes on. */
export function recover(stream: Stream, checkpoint: Checkpoint, error: SyncError, context: Context): Recovered {
  const round = checkpoint.round as Round;
  const read = round.read as Read;
  switch (error.recovery) {
    case 'restart':
      return restarted(checkpoint, read, context);
    case 'shrink':
      return shrunk(stream, checkpoint, context);
    case 'reread':
      if (stream.method === 'window') return failed(stream, checkpoint);
      return { outcome: 'fail', checkpoint: withoutRound(checkpoint), forget: 'all' };
    case 'deny':
      return { outcome: 'fail', checkpoint: denied(stream, checkpoint), forget: 'all' };
    case 'absent':
      return missing(stream, checkpoint, context);
    case 'stream':
      return failed(stream, checkpoint);
    default:
      return { outcome: 'fail', checkpoint, forget: null };
  }
}

function restarted(checkpoint: Checkpoint, read: Read, context: Context): Recovered {
  const restarts = read.restartRun === context.run ? read.restarts + 1 : 1;
  const again = { ...fresh(read, context), restarts, restartRun: context.run };
  return {
    outcome: restarts > MAX_RESTARTS ? 'fail' : 'retry',
    checkpoint: withRead(checkpoint, again),
    forget: read.number,
  };
}

/** A page too heavy for the service may do at half the limit; tried once (R24). */
function shrunk(stream: Stream, checkpoint: Checkpoint, context: Context): Recovered {
  const read = checkpoint.round?.read as Read;
  const limit = Number(read.query['limit']);
  if (read.halved || limit <= 1) return failed(stream, checkpoint);
  const again = { ...fresh(read, context), halved: true, query: { ...read.query, limit: Math.ceil(limit / 2) } };
  return { outcome: 'retry', checkpoint: withRead(checkpoint, again), forget: read.number };
}

/** The read goes on where it was; a history that cannot be read is passed over, so that it does not bar the others. */
function failed(stream: Stream, checkpoint: Checkpoint): Recovered {
  const round = checkpoint.round as Round;
  const next = { ...round, read: null, phases: phasesAfter(stream, round.phases) };
  return {
    outcome: 'fail',
    checkpoint: stream.method === 'window' ? { ...checkpoint, round: next } : checkpoint,
    forget: null,
  };
}

/** Lost permission: whatever is shown when it is back has to be scanned, no feed tells of it (R13). */
function denied(stream: Stream, checkpoint: Checkpoint): Checkpoint {
  const scanDue = stream.method === 'feed' && checkpoint.scanEndedPass !== null ? 'permission' : checkpoint.scanDue;
  return { ...withoutRound(checkpoint), scanDue };
}

function missing(stream: Stream, checkpoint: Checkpoint, { pass }: Context): Recovered {
  if (!stream.mayBeUnavailable) return { outcome: 'fail', checkpoint, forget: null };
  const round = checkpoint.round as Round;
  const unavailable: Recovered = {
    outcome: 'unavailable',
    checkpoint: { ...withoutRound(checkpoint), unavailable: true, finishedPass: pass },
    forget: 'all',
  };
  // Once a round of histories has ended the service is known to have them.
  const noneLives = checkpoint.watermark === null && round.pages === 0 && round.misses + 1 >= MAX_MISSES;
  if (stream.method !== 'window' || noneLives) return unavailable;
  const next = { ...round, read: null, misses: round.misses + 1, phases: phasesAfter(stream, round.phases) };
  return { outcome: 'retry', checkpoint: { ...checkpoint, round: next }, forget: null };
}

/** The same read at its first page, begun now. */
function fresh(read: Read, { now }: Context): Read {
  return { ...read, cursor: null, at: now };
}

function withRead(checkpoint: Checkpoint, read: Read): Checkpoint {
  return { ...checkpoint, round: { ...(checkpoint.round as Round), read } };
}
