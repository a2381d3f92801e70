import type {
  Checkpoint,
  IdleCheckpoint,
  ListRead,
  ReadStep,
  Round,
  RoundCheckpoint,
  RoundReason,
} from '../checkpoint.ts';
import { CLOCK_TOLERANCE_SECONDS, type Context, isFuture, isOutOfLookback, withinLookback } from '../context.ts';
import type { RoundFacts } from '../ports/destination.ts';
import { type FeedStream, idsParameterOf, type MarkedStream, type SnapshotStream, type Stream } from '../stream.ts';
import { addSeconds, type Instant, sameHour } from '../time/instant.ts';
import { chunksOf } from './chunk.ts';
import type { RowDifference } from './difference.ts';
import { feedStep, lookupStep, newRound, scanSteps } from './round.ts';
import { nextScanAt, staleHistoriesBefore } from './scan-interval.ts';

/** The new round, possibly with nothing to read, or the reason why none can begin. */
export type RoundStart =
  | { readonly do: 'round'; readonly round: Round }
  | { readonly do: 'rest'; readonly why: 'hourly' | 'waiting' };

/** Decides how and why a stream is read next. */
export function chooseRound(stream: Stream, checkpoint: Checkpoint, context: Context, facts: RoundFacts): RoundStart {
  switch (stream.method) {
    case 'feed':
      return chooseFeedRound(stream, checkpoint, context, facts);
    case 'marked':
      return chooseMarkedRound(stream, checkpoint, context, facts);
    case 'snapshot':
      return chooseSnapshotRound(stream, checkpoint, context, facts);
    case 'window': {
      const steps = [{ ...lookupStep('tests'), before: staleHistoriesBefore(facts, context) }];
      return started({ mode: 'window', reason: 'window', steps }, context, facts);
    }
  }
}

/** Where the feeds start (R2); null if no feed can be read. */
export function feedBoundOf({ watermark }: Checkpoint, { options }: Context): Instant | null {
  return watermark === null ? null : addSeconds(watermark, -options.overlapSeconds);
}

/** The feed bound, moved forward to what the feeds still cover (R3). */
export function reachableBoundOf(checkpoint: Checkpoint, context: Context): Instant | null {
  return withinLookback(feedBoundOf(checkpoint, context), context);
}

/**
 * How a scan that failed in this run waits, decided when the feeds begin: until then, the newest server time may have
 * moved. If the feeds do not reach back to the watermark, a scan stays due, whatever the failed one's reason (R3). A
 * scan that began before the earliest time that they cover starts over: both would miss changes in between (R9).
 * @returns null if nothing changes
 */
export function waitForFeeds(checkpoint: IdleCheckpoint, context: Context): IdleCheckpoint | null {
  const { waitingScan, scanDue } = checkpoint;
  const since = reachableBoundOf(checkpoint, context);
  if (since === null || since === feedBoundOf(checkpoint, context)) return null;
  if (waitingScan === null) return scanDue === null ? { ...checkpoint, scanDue: 'clamp' } : null;
  if (waitingScan.firstPageAt !== null && waitingScan.firstPageAt < since)
    return { ...checkpoint, waitingScan: null, scanDue: scanDue ?? waitingScan.due ?? 'clamp' };
  return waitingScan.due === null ? { ...checkpoint, waitingScan: { ...waitingScan, due: 'clamp' } } : null;
}

function chooseFeedRound(stream: FeedStream, checkpoint: Checkpoint, context: Context, facts: RoundFacts): RoundStart {
  const reason = scanReason(checkpoint, context) ?? dueReason(checkpoint, context);
  const hasFailed = checkpoint.scanTriedInRun === context.run;
  const since = hasFailed ? reachableBoundOf(checkpoint, context) : feedBoundOf(checkpoint, context);
  // A feed from a bound in the future would be empty.
  const hasFeeds = since !== null && isTrusted(checkpoint.watermark, context);
  const feeds: ReadStep[] = hasFeeds
    ? [feedStep('upserts', since, context), feedStep('tombstones', since, context)]
    : [];
  if (reason === null || hasFailed)
    return started(
      {
        mode: 'feed',
        reason: 'increment',
        reads: checkpoint.waitingScan?.reads ?? 0,
        steps: [
          ...feeds,
          ...(stream.parent === undefined ? [] : [lookupStep('owned'), lookupStep('unshown')]),
          ...rejectedSteps(facts),
          // Held-back removals are confirmed by id before they are applied (R14).
          ...(context.options.allowShrink && facts.hasHeld ? [lookupStep('candidates')] : []),
        ],
      },
      context,
      facts,
    );
  const steps: ReadStep[] = [
    ...scanSteps(stream, context),
    ...feeds.slice(1),
    ...(facts.hasRows ? [lookupStep('candidates')] : []),
  ];
  return started({ mode: 'scan', reason, due: checkpoint.scanDue, steps }, context, facts);
}

/** Reasons about the feed bound; they don't matter without marks, because then no feed is read (R18, R22). */
const BOUND_REASONS: ReadonlySet<RoundReason> = new Set(['clock', 'clamp']);

function chooseMarkedRound(
  stream: MarkedStream,
  checkpoint: Checkpoint,
  context: Context,
  facts: RoundFacts,
): RoundStart {
  if (!facts.isParentScanned) return { do: 'rest', why: 'waiting' };
  const forced = scanReason(checkpoint, context);
  // Without a server time, what is due is unknown, so everything is scanned, feed streams included (R13).
  const isDated = context.serverTime !== null;
  const isIrrelevant = isDated && forced !== null && BOUND_REASONS.has(forced) && !facts.marks.isDue;
  const reason = (isIrrelevant ? null : forced) ?? dueReason(checkpoint, context);
  if (reason !== null && checkpoint.scanTriedInRun !== context.run) {
    const mayBeUnshown = facts.hasRows || facts.marks.isDue;
    const steps = [...scanSteps(stream, context), ...(mayBeUnshown ? [lookupStep('unshown')] : [])];
    return started({ mode: 'scan', reason, due: checkpoint.scanDue, steps }, context, facts);
  }
  const steps = [
    ...markedSteps(stream, checkpoint, context, facts),
    ...(stream.staged === undefined ? rejectedSteps(facts) : []),
  ];
  return started({ mode: 'marked', reason: 'increment', steps }, context, facts);
}

/**
 * Marked rows too old for the upserts feed are looked up by id. A typed stream then also looks up the marks that the
 * feed did not clear. Rows that none of these reads returned are looked up in the parent's list (R18).
 */
function markedSteps(stream: Stream, checkpoint: Checkpoint, context: Context, { marks }: RoundFacts): ReadStep[] {
  const since = reachableBoundOf(checkpoint, context);
  if (since === null || !marks.isDue) return [];
  return [
    ...(marks.outside > 0 ? [{ ...lookupStep('marked'), before: since }] : []),
    ...(marks.inside > 0 ? [feedStep('upserts', since, context)] : []),
    ...(marks.inside > 0 && stream.staged === undefined ? [lookupStep('marked')] : []),
    lookupStep('unshown'),
  ];
}

/** Rejected rows are looked up again until they are accepted or gone (R20). Full reads return them anyway. */
function rejectedSteps({ hasRejected }: RoundFacts): ReadStep[] {
  return hasRejected ? [lookupStep('rejected')] : [];
}

function chooseSnapshotRound(
  stream: SnapshotStream,
  { watermark }: Checkpoint,
  context: Context,
  facts: RoundFacts,
): RoundStart {
  const { latestServerTime: now, options } = context;
  if (stream.hourly && !options.full && watermark !== null && now !== null && sameHour(watermark, now)) {
    return { do: 'rest', why: 'hourly' };
  }
  const lists = scanSteps(stream, context).map((step): ListRead => ({ ...step, as: 'snapshot' }));
  // A row may move between the lists while they are read (R12).
  const steps = lists.length > 1 && facts.hasRows ? [...lists, lookupStep('candidates')] : lists;
  return started({ mode: 'snapshot', reason: 'snapshot', steps }, context, facts);
}

/** A row of a feed stream that a verification found to differ. */
interface SuspectRow extends Pick<RowDifference, 'what'> {
  readonly key: readonly string[];
}

/**
 * The checkpoint of a feed stream within a round that only looks up suspect rows; an extra one becomes absent unless it
 * is returned. It takes the place of the stream's own round. Its reads are numbered after those of that round, so keys
 * that the round has seen don't count as seen.
 */
export function suspectRound(
  stream: Stream,
  checkpoint: Checkpoint,
  suspects: readonly SuspectRow[],
  context: Context,
): RoundCheckpoint {
  const extra = new Set(suspects.filter(({ what }) => what === 'extra').map(({ key: [id] }) => id));
  const all = [...new Set(suspects.map(({ key: [id = ''] }) => id))].sort();
  const steps = [...chunksOf(idsParameterOf(stream), all)].map((ids) => {
    return { ...lookupStep('suspect'), ids, pendingIds: ids.filter((id) => extra.has(id)) };
  });
  const reads = (checkpoint.round ?? checkpoint.waitingScan)?.reads ?? 0;
  const plan = { mode: 'feed', reason: 'increment', reads, steps } as const;
  const round = newRound(plan, context, { hasRows: false, lastMark: 0 });
  return { ...checkpoint, scanTriedInRun: null, waitingScan: null, round };
}

function started(...plan: Parameters<typeof newRound>): RoundStart {
  return { do: 'round', round: newRound(...plan) };
}

/** Why a feed or marked stream must be scanned instead; null if no scan is needed. */
function scanReason({ scanEndedCycle, watermark }: Checkpoint, context: Context): RoundReason | null {
  if (scanEndedCycle === null) return 'first';
  if (context.options.full && scanEndedCycle !== context.cycle) return 'full';
  if (watermark === null || !isTrusted(watermark, context)) return 'clock';
  return isOutOfLookback(addSeconds(watermark, -context.options.overlapSeconds), context) ? 'clamp' : null;
}

/** Whether a watermark may be a bound: not without a server time, nor if its feed would start in the future (R1). */
export function isTrusted(
  watermark: Instant | null,
  { serverTime, options }: Pick<Context, 'serverTime' | 'options'>,
): boolean {
  const toleranceSeconds = Math.min(CLOCK_TOLERANCE_SECONDS, options.overlapSeconds);
  return watermark !== null && serverTime !== null && watermark <= addSeconds(serverTime, toleranceSeconds);
}

/** Why a scan is due although the feeds or marks could be read (R12, R13). */
function dueReason(checkpoint: Checkpoint, { latestServerTime, options }: Context): RoundReason | null {
  if (checkpoint.scanDue !== null) return checkpoint.scanDue;
  if (latestServerTime === null) return null;
  const dueAt = nextScanAt(checkpoint, options);
  // Without a trusted time, the age of the last scan is unknown.
  const isUnknown = dueAt === null || isFuture(checkpoint.scanEndedAt, latestServerTime);
  return isUnknown || dueAt <= latestServerTime ? 'full-every' : null;
}
