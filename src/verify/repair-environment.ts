import type { Checkpoint, RoundCheckpoint } from '../core/checkpoint.ts';
import { type Context, type DecisionOptions, inEnvironment } from '../core/context.ts';
import { suspectRound } from '../core/decide/choose-round.ts';
import { isHeld } from '../core/decide/shrink-guard.ts';
import { joinKey } from '../core/decode/decode.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import type { Commit, Destination } from '../core/ports/destination.ts';
import type { Source } from '../core/ports/source.ts';
import type { Stream } from '../core/stream.ts';
import type { StreamCounter } from '../sync/stream-counter.ts';
import { syncStream } from '../sync/sync-stream.ts';
import type { StreamContext } from './contexts.ts';
import { isPending, type Mismatch, type MismatchList, whyOf } from './mismatch.ts';
import { stillDiffering } from './recheck.ts';
import { mismatchesOf, type StreamVerification } from './stream-verification.ts';

export interface RepairWork {
  readonly catalogue: readonly Stream[];
  readonly source: Source;
  readonly destination: Destination;
  readonly options: DecisionOptions;
  readonly run: number;
  readonly counter: StreamCounter;
  readonly notRepaired: string[];
}

/**
 * Repairs the streams of one environment by the sync's own loop, and reports each verification with its verdicts after
 * the repair. In the catalogue, a stream comes after those whose changes mark its rows.
 */
export async function repairEnvironment(
  work: RepairWork,
  verifications: readonly StreamVerification[],
  onRepaired: (before: StreamVerification, after: StreamVerification) => void,
): Promise<void> {
  const differing = verifications.filter((each) => repairable(each).length > 0);
  const worked = new Set<Mismatch>();
  for (const stream of work.catalogue) {
    const own = differing.filter(({ streamContext }) => streamContext.stream.name === stream.name);
    const [first] = differing;
    if (first === undefined || (own.length === 0 && !isMarkedBy(differing, stream))) continue;
    const streamContext = { ...first.streamContext, stream };
    await attempt(work, streamContext, async () => {
      const mismatches = (await Promise.all(own.map((each) => mismatchesToRepair(work, each)))).flat();
      for (const mismatch of mismatches) worked.add(mismatch);
      await repairStream(work, streamContext, mismatches);
    });
  }
  for (const each of verifications)
    await attempt(work, each.streamContext, async () => onRepaired(each, await judgeAgain(work, each, worked)));
}

/** Whether the repair of a feed stream may mark rows of this one. */
function isMarkedBy(differing: readonly StreamVerification[], { name, method }: Stream): boolean {
  const feeds = differing.map(({ streamContext }) => streamContext.stream).filter((stream) => stream.method === 'feed');
  return method === 'marked' && feeds.some(({ marks }) => marks.some((rule) => rule.stream === name));
}

/** A failing stream does not stop the others (R9). */
async function attempt(work: RepairWork, of: StreamContext, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof SyncError) || endsRun(error)) throw error;
    addNotRepaired(work, of, error.message);
  }
}

function addNotRepaired({ notRepaired }: RepairWork, { environment, stream }: StreamContext, why: string): void {
  notRepaired.push(`${environment.name}, ${stream.name}: ${why}`);
}

/** The mismatches to repair. Pending rows are left to the next sync, unless their whole list is read anyway. */
export function repairable(verification: StreamVerification): Mismatch[] {
  const { method } = verification.streamContext.stream;
  return mismatchesOf(verification).filter((mismatch) => {
    const { key, verdict, heldBack } = mismatch;
    if (key.length === 0 || (verdict === 'different' && heldBack)) return false;
    if (!isPending(mismatch)) return true;
    return method === 'snapshot' || (method === 'marked' && verdict === 'ambiguous');
  });
}

/** The mismatches to repair. Extra rows of a feed stream stay if they are held back or too many (R14). */
async function mismatchesToRepair(work: RepairWork, verification: StreamVerification): Promise<readonly Mismatch[]> {
  const { streamContext, unexplained } = verification;
  const { stream, reader } = streamContext;
  const mismatches = repairable(verification);
  if (stream.method !== 'feed') return mismatches;
  const extra = mismatches.flatMap(({ what, key }) => (what === 'extra' ? [key] : []));
  // Rows that were not requested again may be held back too.
  const heldBack = await reader.heldRemovals(stream.name, extra);
  const toRemove = extra.filter((key) => !heldBack.has(joinKey(key))).length + unexplained.unlisted.extra;
  const isTooMany = isHeld(stream, { live: await reader.count(stream), toRemove }, contextOf(work, stream));
  const advice = 'if the source is right, run `obsync sync --full --allow-shrink`';
  if (isTooMany) addNotRepaired(work, streamContext, `${toRemove} rows would be deleted, more than half: ${advice}`);
  return mismatches.filter(({ what, key }) => what !== 'extra' || !(isTooMany || heldBack.has(joinKey(key))));
}

/**
 * Repairs one stream: looks up the suspect rows of a feed, reads marked rows together with those that differ, or reads
 * the whole snapshot (R18, R22). A marked stream without a finished scan is left to a sync.
 */
async function repairStream(
  work: RepairWork,
  streamContext: StreamContext,
  mismatches: readonly Mismatch[],
): Promise<void> {
  const { stream } = streamContext;
  const { destination } = work;
  const { checkpoint } = await destination.load(stream);
  if (stream.method === 'feed') {
    const start = suspectRound(stream, checkpoint, mismatches, contextOf(work, stream));
    const beside = withStoredCheckpoint(destination, { stored: checkpoint, start });
    return await readByLoop({ ...work, destination: beside }, streamContext);
  }
  if (stream.method === 'marked') {
    const ids = [...new Set(mismatches.map(({ key }) => key[0] as string))].sort();
    const marks = ids.map((id) => ({ stream: stream.name, id }));
    if (marks.length > 0) await destination.commit(stream, { kind: 'page', checkpoint, marks }, new Set());
    if (checkpoint.scanEndedCycle === null) return;
  }
  await readByLoop(work, streamContext);
  const { heldRemovals: held } = await destination.outstanding(stream);
  const advice = 'apply them with `obsync sync --allow-shrink`';
  if (held > 0) addNotRepaired(work, streamContext, `${held} removals are held back: ${advice}`);
}

async function readByLoop(work: RepairWork, streamContext: StreamContext): Promise<void> {
  const { destination, counter } = work;
  const { environment, stream, source, continueOrStop } = streamContext;
  const context = (): Context => inEnvironment(contextOf(work, stream), environment.id);
  const prefix = [environment.id];
  const skipped = { first: null, count: 0, expiredCursor: null };
  await syncStream({ stream, source, destination, prefix, counter, concurrency: 1, skipped, context, continueOrStop });
}

/**
 * The destination of a round that starts from this checkpoint and is never stored. What its pages change is committed
 * with the stored checkpoint, so it finishes nothing, and the unfinished round of a sync loses nothing (R6). Only its
 * page limit is stored (R24).
 */
function withStoredCheckpoint(
  destination: Destination,
  { stored, start }: { readonly stored: Checkpoint; readonly start: RoundCheckpoint },
): Destination {
  return {
    ...destination,
    load: async (stream) => ({ ...(await destination.load(stream)), checkpoint: start }),
    async commit(stream, commit, markableStreams) {
      const checkpoint = { ...stored, pageLimit: commit.checkpoint.pageLimit };
      const page: Commit = commit.kind === 'page' ? { ...commit, checkpoint } : { kind: 'page', checkpoint };
      return { ...(await destination.commit(stream, page, markableStreams)), checkpoint: commit.checkpoint };
    },
  };
}

/** The hourly snapshot is read regardless of the hour (R22). */
function contextOf({ source, options, run }: RepairWork, { hourly }: Stream): Context {
  const { limits } = options;
  return { run, cycle: run, ...source.times(), options: { ...options, full: hourly === true }, limits };
}

/**
 * The verification with its verdicts after the repair: the rows that it worked on are requested once more. The mirror
 * is read through its writer, because a reader may see a copy from before the repair.
 */
async function judgeAgain(
  { destination }: RepairWork,
  verification: StreamVerification,
  worked: ReadonlySet<Mismatch>,
): Promise<StreamVerification> {
  const { streamContext, pending, unexplained } = verification;
  const reader = { ...streamContext.reader, existing: destination.existingWithChildren };
  const own = mismatchesOf(verification).filter((mismatch) => worked.has(mismatch));
  const differing = await stillDiffering({ ...streamContext, reader }, own);
  const judged = (mismatch: Mismatch): Mismatch => {
    if (!worked.has(mismatch)) return mismatch;
    const why = whyOf(mismatch);
    if (!differing.has(joinKey(mismatch.key))) return { ...mismatch, verdict: 'repaired', why };
    // Pending edges of a column wait for the next sync.
    const isWaiting = isPending(mismatch) && streamContext.stream.method !== 'snapshot';
    return isWaiting ? mismatch : { ...mismatch, verdict: 'different', why };
  };
  const judgedList = ({ listed, unlisted }: MismatchList): MismatchList => ({
    listed: new Map([...listed].map(([key, mismatch]) => [key, judged(mismatch)])),
    unlisted,
  });
  return { ...verification, pending: judgedList(pending), unexplained: judgedList(unexplained) };
}
