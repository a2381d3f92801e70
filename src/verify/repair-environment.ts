import { type Context, type DecisionOptions, inEnvironment } from '../core/context.ts';
import { chunksOf } from '../core/decide/chunk.ts';
import { isLive } from '../core/decide/difference.ts';
import { markAbsent, repairPage } from '../core/decide/repair-page.ts';
import { isHeld } from '../core/decide/shrink-guard.ts';
import { decodePage, joinKey } from '../core/decode/decode.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import type { Commit, Destination } from '../core/ports/destination.ts';
import type { Source } from '../core/ports/source.ts';
import { idsParameterOf, type Stream } from '../core/stream.ts';
import type { Instant } from '../core/time/instant.ts';
import type { StreamCounter } from '../sync/stream-counter.ts';
import { findMarkableStreams, syncStream } from '../sync/sync-stream.ts';
import { keysOf } from './compare-stream.ts';
import type { StreamContext } from './contexts.ts';
import { isPending, type Mismatch, type MismatchList, whyOf } from './mismatch.ts';
import { readByIds } from './read-list.ts';
import { stillDiffering } from './recheck.ts';
import { mismatchesOf, type StreamVerification } from './stream-verification.ts';

/** What the repair of one environment needs. */
export interface RepairWork {
  readonly catalogue: readonly Stream[];
  readonly source: Source;
  readonly destination: Destination;
  readonly options: DecisionOptions;
  readonly run: number;
  readonly counter: StreamCounter;
  readonly notRepaired: string[];
  /** The machine's clock; no decision depends on it (R1). */
  clock(): Instant;
}

/**
 * Repairs the streams of one environment and reports each verification with its verdicts after the repair. Rows of feed
 * streams are requested by id; other streams are read by the sync's own loop: their marked rows, or the whole snapshot.
 * Feed streams go first, because their changes mark rows of their dependents.
 */
export async function repairEnvironment(
  work: RepairWork,
  verifications: readonly StreamVerification[],
  onRepaired: (before: StreamVerification, after: StreamVerification) => void,
): Promise<void> {
  const differing = verifications.filter((each) => repairable(each).length > 0);
  const byMethod = Map.groupBy(differing, ({ streamContext }) => streamContext.stream.method);
  const feeds = byMethod.get('feed') ?? [];
  const kept = new Set<Mismatch>();
  for (const each of feeds) await attempt(work, each.streamContext, () => repairRows(work, each, kept));
  for (const each of byMethod.get('marked') ?? []) await markAgain(work, each);
  for (const stream of work.catalogue) {
    const [first] = verifications;
    if (first === undefined || !isReadAgain(stream, differing)) continue;
    const streamContext = { ...first.streamContext, stream };
    await attempt(work, streamContext, () => readAgain(work, streamContext));
  }
  for (const each of verifications)
    await attempt(work, each.streamContext, async () => onRepaired(each, await judgeAgain(work, each, kept)));
}

/** A marked stream is also read again if the repair of a feed stream may have marked its rows. */
function isReadAgain({ name, method }: Stream, differing: readonly StreamVerification[]): boolean {
  const streams = differing.map(({ streamContext }) => streamContext.stream);
  if (method !== 'marked' && method !== 'snapshot') return false;
  if (streams.some((stream) => stream.name === name)) return true;
  return (
    method === 'marked' &&
    streams.some((stream) => stream.method === 'feed' && stream.marks.some((rule) => rule.stream === name))
  );
}

/** A failing stream does not stop the others (R9). */
async function attempt(work: RepairWork, of: StreamContext, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof SyncError) || endsRun(error)) throw error;
    addNotRepaired(work, of, (error as SyncError).message);
  }
}

function addNotRepaired({ notRepaired }: RepairWork, { environment, stream }: StreamContext, why: string): void {
  notRepaired.push(`${environment.name}, ${stream.name}: ${why}`);
}

/**
 * The mismatches that a repair works on. Pending rows are left to the next sync, unless their whole list is read
 * anyway.
 */
export function repairable(verification: StreamVerification): Mismatch[] {
  const { method } = verification.streamContext.stream;
  return mismatchesOf(verification).filter((mismatch) => {
    const { key, verdict, heldBack } = mismatch;
    if (key.length === 0 || (verdict === 'different' && heldBack)) return false;
    if (!isPending(mismatch)) return true;
    return method === 'snapshot' || (method === 'marked' && verdict === 'ambiguous');
  });
}

/**
 * Requests rows of a feed stream by their ids. Adds to `kept` the extra rows that stay because they are held back or
 * too many (R14).
 */
async function repairRows(work: RepairWork, verification: StreamVerification, kept: Set<Mismatch>): Promise<void> {
  const { streamContext, unexplained } = verification;
  const { stream, reader } = streamContext;
  const mismatches = repairable(verification);
  const extra = mismatches.flatMap(({ what, key }) => (what === 'extra' ? [key] : []));
  // Rows that were not requested again may be held back too (R14).
  const heldBack = await reader.heldRemovals(stream.name, extra);
  const removable = new Set(extra.filter((key) => !heldBack.has(joinKey(key))).map(([id]) => id as string));
  const toRemove = removable.size + unexplained.unlisted.extra;
  if (isHeld(stream, { live: await reader.count(stream), toRemove }, contextOf(work))) {
    removable.clear();
    const advice = 'if the source is right, run `obsync sync --full --allow-shrink`';
    addNotRepaired(work, streamContext, `${toRemove} rows would be deleted, more than half: ${advice}`);
  }
  const isKept = ({ what, key }: Mismatch): boolean => what === 'extra' && !removable.has(key[0] ?? '');
  // Added before the first request, because these rows stay even if a request fails.
  for (const mismatch of mismatches.filter(isKept)) kept.add(mismatch);
  const ids = idsOf(mismatches.filter((mismatch) => !kept.has(mismatch)));
  for (const chunk of chunksOf(idsParameterOf(streamContext.stream), ids))
    await repairChunk(work, { streamContext, ids: chunk, removable });
}

async function repairChunk(
  work: RepairWork,
  {
    streamContext,
    ids,
    removable,
  }: { streamContext: StreamContext; ids: readonly string[]; removable: ReadonlySet<string> },
): Promise<void> {
  const { stream, context } = streamContext;
  const markableStreams = await findMarkableStreams(stream, work.destination);
  const shown = new Set<string>();
  const commit = async (change: Commit): Promise<void> =>
    work.counter.count((await work.destination.commit(stream, change, markableStreams)).counts);
  await readByIds(streamContext, ids, async (page) => {
    const decoded = decodePage(stream, page.items, context());
    for (const key of keysOf(decoded)) shown.add(joinKey(key));
    const keys = decoded.rows.map(({ key }) => key);
    const existing = await work.destination.existing(stream, keys);
    const checkpoint = await work.destination.load(stream.name);
    await commit(repairPage({ stream, checkpoint, page, decoded, existing, markableStreams }, contextOf(work)));
  });
  const gone = ids.filter((id) => removable.has(id) && !shown.has(id)).map((id) => [id]);
  const live = [...(await work.destination.existing(stream, gone)).values()].filter(isLive);
  const at = work.source.times().serverTime ?? work.clock();
  if (live.length > 0)
    await commit(
      markAbsent({ stream, checkpoint: await work.destination.load(stream.name), markableStreams }, live, at),
    );
}

/** Marks the rows that differ; the sync's loop looks them up (R18, R22). */
async function markAgain({ counter, destination }: RepairWork, verification: StreamVerification): Promise<void> {
  const { stream } = verification.streamContext;
  const marks = idsOf(repairable(verification)).map((id) => ({ stream: stream.name, id }));
  const checkpoint = await destination.load(stream.name);
  counter.count((await destination.commit(stream, { kind: 'page', checkpoint, marks }, new Set())).counts);
}

function idsOf(mismatches: readonly Mismatch[]): readonly string[] {
  return [...new Set(mismatches.map(({ key }) => key[0] as string))].sort();
}

/**
 * Reads one stream by the sync's own loop: its marked rows, or the whole snapshot. An unsynced stream is left to a
 * sync.
 */
async function readAgain(work: RepairWork, context: StreamContext): Promise<void> {
  const { stream, environment, source, continueOrStop } = context;
  if (stream.method === 'marked' && (await work.destination.load(stream.name)).scanEndedCycle === null) return;
  await syncStream({
    stream,
    source,
    destination: work.destination,
    prefix: [environment.id],
    counter: work.counter,
    concurrency: 1,
    context: () => inEnvironment(contextOf(work, stream), environment.id),
    continueOrStop,
  });
  const { heldRemovals: held } = await work.destination.outstanding(stream);
  const advice = 'apply them with `obsync sync --allow-shrink`';
  if (held > 0) addNotRepaired(work, context, `${held} removals are held back: ${advice}`);
}

/** The hourly snapshot is read regardless of the hour (R22). */
function contextOf({ source, options, run }: RepairWork, stream?: Stream): Context {
  const { limits } = options;
  return { run, cycle: run, ...source.times(), options: { ...options, full: stream?.hourly === true }, limits };
}

/**
 * The verification with its verdicts after the repair: the rows that it worked on are requested once more. The mirror
 * is read through its writer, because a reader may see a copy from before the repair.
 */
async function judgeAgain(
  { destination }: RepairWork,
  verification: StreamVerification,
  kept: ReadonlySet<Mismatch>,
): Promise<StreamVerification> {
  const { streamContext, pending, unexplained } = verification;
  const worked = new Set(repairable(verification).filter((mismatch) => !kept.has(mismatch)));
  const reader = { ...streamContext.reader, existing: destination.existingWithChildren };
  const differing = await stillDiffering({ ...streamContext, reader }, [...worked]);
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
