import type { Checkpoint, ListRead, ReadStep, Round, RoundReason } from '../checkpoint.ts';
import { CLOCK_TOLERANCE_SECONDS, type Context, isFuture, isOutOfLookback, withinLookback } from '../context.ts';
import type { RoundFacts } from '../ports/destination.ts';
import type { FeedStream, MarkedStream, SnapshotStream, Stream } from '../stream.ts';
import { addDays, addSeconds, type Instant, sameHour } from '../time/instant.ts';
import { feedStep, lookupStep, newRound, scanSteps } from './round.ts';

/** The new round, which may have nothing to read, or the reason why none can begin. */
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
    case 'window':
      return started({ mode: 'window', reason: 'window', steps: [lookupStep('tests')] }, context, facts);
  }
}

/** From when on a feed is read (R2); null if no feed can be read. */
export function feedBoundOf({ watermark }: Checkpoint, { options }: Context): Instant | null {
  return watermark === null ? null : addSeconds(watermark, -options.overlapSeconds);
}

/** The same, moved as far forward as the feeds reach back (R3). */
export function reachableBoundOf(checkpoint: Checkpoint, context: Context): Instant | null {
  return withinLookback(feedBoundOf(checkpoint, context), context);
}

function chooseFeedRound(stream: FeedStream, checkpoint: Checkpoint, context: Context, facts: RoundFacts): RoundStart {
  const reason = scanReason(checkpoint, context) ?? dueReason(checkpoint, context);
  const hasFailed = checkpoint.scanTriedInRun === context.run;
  const since = hasFailed ? reachableBoundOf(checkpoint, context) : feedBoundOf(checkpoint, context);
  // A bound in the future would show nothing.
  const hasFeeds = since !== null && isBelieved(checkpoint.watermark, context);
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

/** Reasons that concern the bound of a feed: without a mark, none is read (R18, R22). */
const BOUND_REASONS: ReadonlySet<RoundReason> = new Set(['clock', 'clamp']);

function chooseMarkedRound(
  stream: MarkedStream,
  checkpoint: Checkpoint,
  context: Context,
  facts: RoundFacts,
): RoundStart {
  const parent = facts.checkpoints.get(stream.dependencies[0]);
  if (parent === undefined || parent.scanEndedCycle === null) return { do: 'rest', why: 'waiting' };
  const forced = scanReason(checkpoint, context);
  // Without a server time nobody knows what is due, so everything is scanned, as of the feed streams (R13).
  const isDated = context.serverTime !== null;
  const isMoot = isDated && forced !== null && BOUND_REASONS.has(forced) && !facts.marks.isDue;
  const reason = (isMoot ? null : forced) ?? dueReason(checkpoint, context);
  if (reason !== null && checkpoint.scanTriedInRun !== context.run) {
    const isAsked = facts.hasRows || facts.marks.isDue;
    const steps = [...scanSteps(stream, context), ...(isAsked ? [lookupStep('unshown')] : [])];
    return started({ mode: 'scan', reason, due: checkpoint.scanDue, steps }, context, facts);
  }
  const steps = [
    ...markedSteps(stream, checkpoint, context, facts),
    ...(stream.staged === undefined ? rejectedSteps(facts) : []),
  ];
  return started({ mode: 'marked', reason: 'increment', steps }, context, facts);
}

/**
 * Marked rows that are too old for the upserts feed are asked for by id. A typed stream then asks by id for the marks
 * that the feed left as well. Rows that none of these reads shows are asked for in the parent's list (R18).
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

/** Rejected rows are asked for again until they are accepted or gone (R20). Full reads show them anyway. */
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
  // A row may move from one list to another between the two reads (R12).
  const steps = lists.length > 1 && facts.hasRows ? [...lists, lookupStep('candidates')] : lists;
  return started({ mode: 'snapshot', reason: 'snapshot', steps }, context, facts);
}

function started(...plan: Parameters<typeof newRound>): RoundStart {
  return { do: 'round', round: newRound(...plan) };
}

/** Why a stream that has feeds or marks must be scanned instead; null if no scan is needed. */
function scanReason({ scanEndedCycle, watermark }: Checkpoint, context: Context): RoundReason | null {
  if (scanEndedCycle === null) return 'first';
  if (context.options.full && scanEndedCycle !== context.cycle) return 'full';
  if (watermark === null || !isBelieved(watermark, context)) return 'clock';
  return isOutOfLookback(addSeconds(watermark, -context.options.overlapSeconds), context) ? 'clamp' : null;
}

/**
 * Whether a watermark may be used as a bound. It may not without a server time, nor if it is so far in the future that
 * a feed from the watermark less the overlap would begin in the future as well (R1).
 */
export function isBelieved(watermark: Instant | null, { serverTime, options }: Context): boolean {
  const toleranceSeconds = Math.min(CLOCK_TOLERANCE_SECONDS, options.overlapSeconds);
  return watermark !== null && serverTime !== null && watermark <= addSeconds(serverTime, toleranceSeconds);
}

/** Why a scan is due although the feeds, or the marks, could be read (R12, R13). */
function dueReason({ scanDue, scanEndedAt }: Checkpoint, { latestServerTime, options }: Context): RoundReason | null {
  if (scanDue !== null) return scanDue;
  if (latestServerTime === null) return null;
  // Without a time that can be believed, nobody knows how long ago the last scan was.
  const isUnknown = scanEndedAt === null || isFuture(scanEndedAt, latestServerTime);
  return isUnknown || addDays(scanEndedAt, options.fullEveryDays) <= latestServerTime ? 'full-every' : null;
}
