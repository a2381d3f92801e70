import type { Checkpoint, IdleCheckpoint, LookupRead, ReadCheckpoint, Round, RoundCheckpoint } from '../checkpoint.ts';
import { type Context, isOutOfLookback } from '../context.ts';
import type { Backlog, DueTest, FactsQuery, RoundEnd } from '../ports/destination.ts';
import type { PageRequest, Query } from '../ports/source.ts';
import { LOOKBACK_DAYS } from '../read-api.ts';
import { idsParameterOf, type Stream } from '../stream.ts';
import { addDays, addSeconds } from '../time/instant.ts';
import { feedBoundOf, reachableBoundOf, waitForFeeds } from './choose-round.ts';
import { firstChunk } from './chunk.ts';
import { historyWindow, resumedHistory } from './history-window.ts';
import {
  beginRead,
  currentLookup,
  feedStep,
  isInRead,
  isScannedAgain,
  lookupStep,
  type ReadPlan,
  restarted,
  scanSteps,
  variantsOf,
  withoutRound,
  withRead,
  withRound,
} from './round.ts';
import { roundReadAt, settledBefore } from './trusted-until.ts';

/**
 * What a stream does next:
 * - `rest`: nothing; `why` says whether it is up to date or waits for another stream
 * - `begin`: begin a round: load the facts and call `chooseRound`
 * - `look-up`: load the backlog and call `lookUp` or `lookUpHistory`
 * - `continue`: decide again from this checkpoint
 * - `fetch`: fetch one page
 * - `forget`: discard what a read, or the whole round, saw and staged, and start it again (R3, R6)
 * - `finish`: end the round
 */
export type NextStep =
  | { readonly do: 'rest'; readonly why: 'done' | 'hourly' | 'waiting' | 'unavailable' }
  | { readonly do: 'begin'; readonly query: FactsQuery }
  | { readonly do: 'look-up'; readonly lookup: LookupRead; readonly checkpoint: RoundCheckpoint }
  | { readonly do: 'continue'; readonly checkpoint: Checkpoint }
  | { readonly do: 'fetch'; readonly request: PageRequest; readonly checkpoint: ReadCheckpoint }
  | { readonly do: 'forget'; readonly checkpoint: Checkpoint; readonly which: number | 'all' }
  | { readonly do: 'finish'; readonly roundEnd: RoundEnd; readonly checkpoint: RoundCheckpoint };

type ContinueStep = Extract<NextStep, { do: 'continue' }> & { readonly checkpoint: RoundCheckpoint };

/** A step that needs no lookup. */
export type LocalStep = Exclude<NextStep, { do: 'begin' | 'look-up' }>;

/** The next step of a stream. The steps end, because each one uses up a page, a step of the round, or the round. */
export function nextStep(stream: Stream, checkpoint: Checkpoint, context: Context): NextStep {
  return checkpoint.round === null
    ? stepBetweenRounds(stream, checkpoint, context)
    : stepInRound(stream, checkpoint, context);
}

function stepBetweenRounds({ method }: Stream, checkpoint: IdleCheckpoint, context: Context): NextStep {
  const { waitingScan, scanTriedInRun, finishedCycle, unavailable } = checkpoint;
  // A scan that failed in an earlier run of the cycle is tried again (R9).
  const mayRest = scanTriedInRun === null || scanTriedInRun === context.run;
  if (finishedCycle === context.cycle && mayRest) return { do: 'rest', why: unavailable ? 'unavailable' : 'done' };
  if (waitingScan !== null && scanTriedInRun !== context.run)
    return { do: 'continue', checkpoint: { ...checkpoint, round: waitingScan, waitingScan: null } };
  if (method === 'feed' && scanTriedInRun === context.run) {
    const waiting = waitForFeeds(checkpoint, context);
    if (waiting?.waitingScan === null) return { do: 'forget', checkpoint: waiting, which: 'all' };
    if (waiting !== null) return { do: 'continue', checkpoint: waiting };
  }
  const { serverTime: at } = context;
  return {
    do: 'begin',
    query: { since: reachableBoundOf(checkpoint, context), settledBefore: settledBefore({ at }, context) },
  };
}

function stepInRound(stream: Stream, checkpoint: RoundCheckpoint, context: Context): NextStep {
  const { round } = checkpoint;
  // A run with `--full` continues no round of an earlier cycle (R6).
  if (context.options.full && round.cycle !== context.cycle)
    return { do: 'forget', checkpoint: withoutRound(checkpoint), which: 'all' };
  if (isOutOfReach(round, context)) return resumeHistory(checkpoint, context) ?? giveUp(checkpoint, context);
  if (isInRead(checkpoint) && !isUnsendable(checkpoint.round.read.query, context))
    return continueRead(checkpoint, context);
  const [step, ...rest] = round.steps;
  if (step === undefined) return { do: 'finish', checkpoint, roundEnd: roundEndOf(stream, round, context) };
  if (step.do === 'list') {
    if (isUnsendable(step.query, context))
      return { do: 'continue', checkpoint: withRound(checkpoint, { read: null, steps: rest }) };
    return fetchFirst(checkpoint, { as: step.as, path: stream.path, query: step.query }, context);
  }
  if (step.ids.length === 0) return { do: 'look-up', lookup: step, checkpoint };
  const first = step.variant === 0 ? { firstRead: round.reads + 1 } : {};
  const counted = withRound(checkpoint, { steps: [{ ...step, asked: step.asked + 1, ...first }, ...rest] });
  return fetchFirst(counted, lookupPlan(stream, step, context), context);
}

/** Continues a history whose bound is too old to send, with its remaining tries (R24); null if that cannot be done. */
function resumeHistory(checkpoint: RoundCheckpoint, context: Context): NextStep | null {
  const read = isInRead(checkpoint) ? resumedHistory(checkpoint.round.read, context) : null;
  return read === null ? null : { do: 'continue', checkpoint: withRead(checkpoint, read) };
}

/**
 * Gives up a round whose bound is too old to send (R3). If a scan has already failed in this run, no other may follow:
 * the round continues without its feeds and moves no watermark (R9). A marked round is always given up: without its
 * feed it would clear marks whose edges were never read (R18), so the next round looks them up by id.
 */
function giveUp(checkpoint: RoundCheckpoint, { run }: Context): NextStep {
  if (checkpoint.scanTriedInRun !== run || checkpoint.round.mode === 'marked')
    return { do: 'forget', checkpoint: withoutRound(checkpoint), which: 'all' };
  const steps = checkpoint.round.steps.filter((step) => step.do !== 'list');
  const without = withRound(checkpoint, { steps, read: null, incomplete: true });
  // The waiting scan must not count rows of the upserts feed as seen: their tombstones were not read.
  return { do: 'forget', checkpoint: without, which: (checkpoint.waitingScan?.reads ?? 0) + 1 };
}

/** Resumes a read, or starts it over if its limit exceeds `--page-size` or, at its start, the page limit (R6, R24). */
function continueRead(checkpoint: ReadCheckpoint, context: Context): LocalStep {
  const { read } = checkpoint.round;
  const limit = Number(read.query['limit']);
  const maxRows = read.cursor === null ? pageLimitOf(checkpoint, context) : context.options.pageSize;
  if (limit <= maxRows) return fetch(checkpoint);
  const restart = restarted(read, context, pageLimitOf(checkpoint, context));
  return { do: 'forget', checkpoint: withRead(checkpoint, restart), which: read.number };
}

function pageLimitOf({ pageLimit }: Checkpoint, { options }: Context): number {
  return Math.min(options.pageSize, pageLimit?.rows ?? options.pageSize);
}

/** Puts the next chunk of the backlog into the current lookup, or ends the lookup if none is left. */
export function lookUp(stream: Stream, checkpoint: RoundCheckpoint, context: Context, backlog: Backlog): ContinueStep {
  const { round } = checkpoint;
  const step = currentLookup(round);
  const rest = round.steps.slice(1);
  const continueWith = (changes: Partial<Round>): ContinueStep => ({
    do: 'continue',
    checkpoint: withRound(checkpoint, changes),
  });
  if (backlog.ids.length === 0) return continueWith({ steps: rest });
  const isLimited = step.about === 'candidates' || (step.about === 'unshown' && stream.method === 'marked');
  if (isLimited && step.asked + variantsOf(stream, step.about).length > MAX_CONFIRMATIONS)
    return continueWith({ steps: rest, confirmedUpTo: step.after });
  const ids = firstChunk(parameterOf(stream, step.about), backlog.ids);
  // No scan begins while another one waits, nor after one has failed in this run (R9).
  const mayScan = checkpoint.waitingScan === null && checkpoint.scanTriedInRun !== context.run;
  if (mayScan && isScanCheaper(stream, ids, backlog, context)) return continueWith(asScan(stream, checkpoint, context));
  const pendingIds = step.about === 'unshown' || step.about === 'rejected' ? ids : [];
  return continueWith({ steps: [{ ...step, ids, pendingIds, variant: 0 }, ...rest] });
}

/** Whether looking up the whole backlog takes more requests than a scan (R13, R18, R22). */
function isScanCheaper(
  { scanQueries }: Stream,
  ids: readonly string[],
  { weighed }: Backlog,
  { options }: Context,
): boolean {
  if (weighed === null) return false;
  const asking = Math.ceil(weighed.ids / ids.length) * scanQueries.length;
  return asking > Math.max(1, Math.ceil(weighed.rows / options.pageSize)) + scanQueries.length - 1;
}

/** Turns the round into a scan. A sweep must read the tombstones again after the scan (R12). */
function asScan(stream: Stream, checkpoint: RoundCheckpoint, context: Context): Partial<Round> {
  const since = feedBoundOf(checkpoint, context);
  const sweeping = [...(since === null ? [] : [feedStep('tombstones', since, context)]), lookupStep('candidates')];
  const steps = [...scanSteps(stream, context), ...(stream.method === 'feed' ? sweeping : [lookupStep('unshown')])];
  return { mode: 'scan', reason: 'fewer-requests', sweeps: true, steps };
}

/** Begins to read the history of the next due test, or ends the step if none is due (R22). */
export function lookUpHistory(
  stream: Stream,
  checkpoint: RoundCheckpoint,
  context: Context,
  due: DueTest | null,
): LocalStep {
  const step = currentLookup(checkpoint.round);
  const rest = checkpoint.round.steps.slice(1);
  if (due === null) return { do: 'continue', checkpoint: withRound(checkpoint, { steps: rest }) };
  const { opens, ...window } = historyWindow(due, context);
  const query = {
    ...(opens === null ? {} : { start_time_from: opens }),
    order_by: 'start_time',
    direction: 'asc',
    limit: Math.min(context.options.pageSize, due.pageLimit ?? context.options.pageSize),
  };
  const path = stream.path.map((segment) => (segment === '{id}' ? due.id : segment));
  const wasRead = due.readAt !== null && due.hasFailed === 0;
  const history = {
    testId: due.id,
    mirroredAt: due.mirroredAt,
    wasRead,
    run: context.run,
    knownFrom: due.knownFrom,
    ...window,
  };
  const asking = withRound(checkpoint, { steps: [{ ...step, ids: [due.id] }, ...rest] });
  return fetchFirst(asking, { as: 'tests', path, query, history }, context);
}

/** The most requests that confirm the candidates of a sweep, or rows that no read returned (R12, R18). */
const MAX_CONFIRMATIONS = 20;

/** Begins a read with its first page, within the stream's page limit (R24). */
function fetchFirst(checkpoint: RoundCheckpoint, plan: ReadPlan, context: Context): LocalStep {
  const limit = Math.min(Number(plan.query['limit']), pageLimitOf(checkpoint, context));
  return fetch(beginRead(checkpoint, { ...plan, query: { ...plan.query, limit } }, context));
}

function fetch(checkpoint: ReadCheckpoint): LocalStep {
  const { path, query, cursor, failedTries = 0 } = checkpoint.round.read;
  const request = { path, query, cursor, ...(failedTries === 0 ? {} : { failedTries }) };
  return { do: 'fetch', request, checkpoint };
}

/** The read of the current chunk in its current variant. */
function lookupPlan(stream: Stream, step: LookupRead, context: Context): ReadPlan {
  const query = {
    ...variantsOf(stream, step.about)[step.variant],
    [parameterOf(stream, step.about)]: step.ids,
    limit: context.options.pageSize,
  };
  const path = step.about === 'unshown' ? ((stream.parentTable ?? stream.parent)?.path ?? stream.path) : stream.path;
  return { as: step.about, path, query };
}

function parameterOf(stream: Stream, about: LookupRead['about']): string {
  if (about === 'unshown') return 'ids';
  return about === 'owned' && stream.parent !== undefined ? stream.parent.parameter : idsParameterOf(stream);
}

/**
 * Whether to give up the round because its time bound is too old to send again (R3), or because a history has none,
 * though one is known by now: without it the service returns only 30 days (R1). A scan only skips its tombstones feed.
 */
function isOutOfReach(round: Round, context: Context): boolean {
  if (round.mode === 'scan') return false;
  if (round.mode === 'window' && round.read?.query['start_time_from'] === undefined)
    return round.read !== null && context.serverTime !== null;
  const next = round.steps[0];
  return isUnsendable(round.read?.query ?? (next?.do === 'list' ? next.query : {}), context);
}

/** Whether a newer server time has made a feed's bound too old to send (R3). */
export function isOverdue({ synced_since, deleted_since }: Query, context: Context): boolean {
  const bound = synced_since ?? deleted_since;
  return bound !== undefined && isOutOfLookback(String(bound), context);
}

/** Like `isOverdue`, but also checks `start_time_from`, which is never sent without a server time (R1). */
function isUnsendable(query: Query, context: Context): boolean {
  const { serverTime, options } = context;
  if (isOverdue(query, context)) return true;
  const opens = query['start_time_from'];
  if (opens === undefined) return false;
  return (
    serverTime === null || String(opens) < addSeconds(addDays(serverTime, -LOOKBACK_DAYS), -options.overlapSeconds)
  );
}

function roundEndOf(stream: Stream, round: Round, context: Context): RoundEnd {
  const at = roundReadAt(round, context.serverTime);
  const isUnread = round.mode === 'marked' && round.reads === 0;
  const sweeps = stream.method === 'feed' && round.mode === 'scan' && round.sweeps;
  // A scan confirms only a sample (R12); marked columns that were not confirmed keep their edges (R18).
  const through = round.sweepContradicted || round.mode === 'marked' ? round.confirmedUpTo : null;
  return {
    sweep: sweeps ? { at } : null,
    through,
    rememberFrom: sweeps && isScannedAgain(round) ? round.firstConfirmation : null,
    marksThrough: round.confirmedUpTo,
    settledBefore: settledBefore({ at }, context),
    replace: stream.staged === undefined || isUnread ? null : round.mode === 'marked' ? 'marked' : 'all',
    lastMark: round.lastMark,
    run: round.run,
    isReleased: context.options.allowShrink && (round.mode !== 'feed' || round.firstConfirmation !== null),
    isWhole: round.mode === 'scan' || round.mode === 'snapshot',
  };
}
