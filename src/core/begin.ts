import type { Ask, Checkpoint, Phase, Reason, Round, Walk } from './checkpoint.ts';
import { CLOCK_TOLERANCE_SECONDS, type Context, isOutOfLookback, withinLookback } from './context.ts';
import type { Facts } from './destination.ts';
import { addDays, addSeconds, type Instant, sameHour } from './instant.ts';
import type { Method, Stream } from './stream.ts';

/** A round to begin, which may have nothing to read, or why none can begin. */
export type Beginning =
  | { readonly do: 'round'; readonly round: Round }
  | { readonly do: 'rest'; readonly why: 'hourly' | 'waiting' };

/** Decides how a stream is read next, and why. */
export function begin(stream: Stream, checkpoint: Checkpoint, context: Context, facts: Facts): Beginning {
  return BEGINNINGS[stream.method](stream, checkpoint, context, facts);
}

/** From where a feed is read (R2); null when no feed can be. */
export function boundOf({ watermark }: Checkpoint, { options }: Context): Instant | null {
  return watermark === null ? null : addSeconds(watermark, -options.overlapSeconds);
}

type Begin = (stream: Stream, checkpoint: Checkpoint, context: Context, facts: Facts) => Beginning;

const BEGINNINGS: Readonly<Record<Method, Begin>> = {
  feed: beginFeed,
  marked: beginMarked,
  snapshot: beginSnapshot,
  window: beginWindow,
};

function beginFeed(stream: Stream, checkpoint: Checkpoint, context: Context, facts: Facts): Beginning {
  const reason = scanReason(checkpoint, context) ?? dueReason(checkpoint, context);
  const hasFailed = checkpoint.scanTriedInRun === context.run;
  const bound = boundOf(checkpoint, context);
  const since = hasFailed ? withinLookback(bound, context) : bound;
  // A bound in the future would show nothing.
  const hasFeeds = since !== null && isBelieved(checkpoint.watermark, context);
  const feeds: Phase[] = hasFeeds ? [feed('upserts', since, context), feed('tombstones', since, context)] : [];
  if (reason === null || hasFailed)
    return round(
      { mode: 'feed', reason: 'increment', reads: checkpoint.waitingScan?.reads ?? 0 },
      [...feeds, ...(stream.owners[0]?.parameter ? [ask('owned')] : []), ...rejectedPhases(facts)],
      context,
      facts,
    );
  const phases: Phase[] = [...scans(stream, context), ...feeds.slice(1), ...(facts.hasRows ? [ask('candidates')] : [])];
  return round({ mode: 'scan', reason, due: checkpoint.scanDue }, phases, context, facts);
}

/** What has a stream scanned to which no mark leads. */
const UNMARKED: ReadonlySet<Reason> = new Set(['first', 'full', 'full-every']);

function beginMarked(stream: Stream, checkpoint: Checkpoint, context: Context, facts: Facts): Beginning {
  const leader = facts.checkpoints.get(stream.after[0] as Stream['name']);
  if (leader === undefined || leader.scanEndedPass === null) return { do: 'rest', why: 'waiting' };
  const { inside, outside } = facts.marks;
  const reason = scanReason(checkpoint, context) ?? (facts.hasKeyless ? dueReason(checkpoint, context) : null);
  // Without a mark, or a rejected row, nothing is asked for, whatever the clocks say (R18, R20, R22).
  if (reason !== null && (UNMARKED.has(reason) || inside + outside > 0)) {
    return round(
      { mode: 'scan', reason },
      [...scans(stream, context), ...(facts.hasRows ? [ask('unshown')] : [])],
      context,
      facts,
    );
  }
  return round(
    { mode: 'marked', reason: 'increment' },
    [
      ...markedPhases(stream, checkpoint, context, facts),
      ...(stream.staged === undefined ? rejectedPhases(facts) : []),
    ],
    context,
    facts,
  );
}

/**
 * The rows that the upserts feed cannot show are asked for by id; where it does not clear marks itself, so is the rest. What
 * none of it shows is asked for in the leading list (R18).
 */
function markedPhases(stream: Stream, checkpoint: Checkpoint, context: Context, { marks }: Facts): Phase[] {
  const since = boundOf(checkpoint, context);
  if (since === null || marks.inside + marks.outside === 0) return [];
  return [
    ...(marks.outside > 0 ? [{ ...ask('marked'), before: since }] : []),
    ...(marks.inside > 0 ? [feed('upserts', since, context)] : []),
    ...(marks.inside > 0 && stream.staged === undefined ? [ask('marked')] : []),
    ask('unshown'),
  ];
}

/** What stands rejected is asked for again, until it is accepted or gone (R20); whole reads show it anyway. */
function rejectedPhases({ hasRejected }: Facts): Phase[] {
  return hasRejected ? [ask('rejected')] : [];
}

function beginSnapshot(stream: Stream, { watermark }: Checkpoint, context: Context, facts: Facts): Beginning {
  const { now, options } = context;
  if (stream.hourly && !options.full && watermark !== null && now !== null && sameHour(watermark, now)) {
    return { do: 'rest', why: 'hourly' };
  }
  const lists = scans(stream, context).map((walk): Walk => ({ ...walk, as: 'snapshot' }));
  // A row may move from one list to the other between their reads (R12).
  const phases = lists.length > 1 && facts.hasRows ? [...lists, ask('candidates')] : lists;
  return round({ mode: 'snapshot', reason: 'snapshot' }, phases, context, facts);
}

function beginWindow(_stream: Stream, _checkpoint: Checkpoint, context: Context, facts: Facts): Beginning {
  return round({ mode: 'window', reason: 'window' }, [ask('tests')], context, facts);
}

/** Why a stream that could be read by its feeds has to be scanned all the same; null when the feeds will do. */
function scanReason({ scanEndedPass, watermark }: Checkpoint, context: Context): Reason | null {
  if (scanEndedPass === null) return 'first';
  if (context.options.full && scanEndedPass !== context.pass) return 'full';
  if (watermark === null || !isBelieved(watermark, context)) return 'clock';
  return isOutOfLookback(addSeconds(watermark, -context.options.overlapSeconds), context) ? 'clamp' : null;
}

/**
 * Whether a watermark may serve as a bound: none does without a server time, nor one that lies so far beyond it that a feed
 * read from it less the overlap would begin after now (R1).
 */
export function isBelieved(watermark: Instant | null, { now, options }: Context): boolean {
  const toleranceSeconds = Math.min(CLOCK_TOLERANCE_SECONDS, options.overlapSeconds);
  return watermark !== null && now !== null && watermark <= addSeconds(now, toleranceSeconds);
}

/** Why a feed stream is due for a scan though its feeds would do (R12, R13). */
function dueReason({ scanDue, scanEndedAt }: Checkpoint, { now, options }: Context): Reason | null {
  if (scanDue !== null) return scanDue;
  return scanEndedAt !== null && now !== null && addDays(scanEndedAt, options.fullEveryDays) <= now
    ? 'full-every'
    : null;
}

export function scans(stream: Stream, { options }: Context): Walk[] {
  return stream.variants.map((variant) => ({ do: 'walk', as: 'scan', query: { ...variant, limit: options.pageSize } }));
}

export function feed(as: 'upserts' | 'tombstones', since: Instant, { options }: Context): Walk {
  const parameter = as === 'upserts' ? 'synced_since' : 'deleted_since';
  return { do: 'walk', as, query: { [parameter]: since, limit: options.pageSize } };
}

export function ask(about: Ask['about']): Ask {
  return { do: 'ask', about, after: '', asked: 0, ids: [], unpaid: [], variant: 0, before: null };
}

function round(
  how: Pick<Round, 'mode' | 'reason'> & Partial<Pick<Round, 'due' | 'reads'>>,
  phases: readonly Phase[],
  { run, pass }: Context,
  facts: Facts,
): Beginning {
  return {
    do: 'round',
    round: {
      due: null,
      reads: 0,
      ...how,
      run,
      pass,
      phases,
      pages: 0,
      firstPageAt: null,
      lastMark: facts.lastMark,
      sweeps: facts.hasRows,
      refuted: false,
      read: null,
      askedThrough: null,
      firstConfirmation: null,
      misses: 0,
      incomplete: false,
    },
  };
}
