import { ask, boundOf, feed, scans } from './begin.ts';
import { type Ask, type Checkpoint, type Phase, type Read, type Round, untried, withoutRound } from './checkpoint.ts';
import { firstChunk, fitsUrl } from './chunk.ts';
import { CLOCK_TOLERANCE_SECONDS, type Context, isOutOfLookback } from './context.ts';
import type { Commit, DueTest, Owed, Settlement } from './destination.ts';
import { addDays, addSeconds, type Instant } from './instant.ts';
import type { PageRequest, Query } from './source.ts';
import type { Stream } from './stream.ts';

/**
 * What comes next for a stream:
 * - `rest`: nothing; `why` says whether it is up to date or has to wait for another stream
 * - `begin`: a round has to begin: look up the facts and call `begin`
 * - `ask`: look up what is owed and call `askFor` or `askForTest`
 * - `go`: plan again from this checkpoint; what is passed over on the way is committed with it (R12)
 * - `fetch`: one page
 * - `forget`: drop what a read, or the whole round, gathered: it starts anew (R3, R6)
 * - `settle`: the round has ended
 */
export type Step =
  | { readonly do: 'rest'; readonly why: 'done' | 'hourly' | 'waiting' | 'unavailable' }
  | { readonly do: 'begin'; readonly since: Instant | null }
  | { readonly do: 'ask'; readonly ask: Ask }
  | { readonly do: 'go'; readonly checkpoint: Checkpoint; readonly passedOver?: PassedOver }
  | { readonly do: 'fetch'; readonly request: PageRequest; readonly checkpoint: Checkpoint }
  | { readonly do: 'forget'; readonly checkpoint: Checkpoint; readonly which: number | 'all' }
  | { readonly do: 'settle'; readonly settlement: Settlement };

type Go = Extract<Step, { do: 'go' }>;

/** What is said of ids that cannot be asked for. */
export type PassedOver = Pick<Commit, 'seen' | 'left'>;

/** The history's window, in days: the service shows nothing older (R22). */
const WINDOW_DAYS = 90;

/** How late executions are reported, in days (R22). */
const LATE_DAYS = 7;

/** A step that needs no lookup. */
export type Move = Exclude<Step, { do: 'begin' | 'ask' }>;

/** The next step of a stream. It ends: every step either uses up a page, a phase or the round. */
export function plan(stream: Stream, checkpoint: Checkpoint, context: Context): Step {
  const { round } = checkpoint;
  if (round === null) {
    if (checkpoint.finishedPass === context.pass)
      return { do: 'rest', why: checkpoint.unavailable ? 'unavailable' : 'done' };
    const { waitingScan, scanTriedInRun } = checkpoint;
    if (waitingScan !== null && scanTriedInRun !== context.run)
      return { do: 'go', checkpoint: { ...checkpoint, round: waitingScan, waitingScan: null } };
    return { do: 'begin', since: boundOf(checkpoint, context) };
  }
  if (isForFull(round, context)) return { do: 'forget', checkpoint: withoutRound(checkpoint), which: 'all' };
  if (outOfReach(round, context)) return giveUp(checkpoint, context);
  if (round.read !== null && !isTooOld(round.read.query, context)) return goOn(checkpoint, round.read, context);
  const [phase, ...rest] = round.phases;
  if (phase === undefined) return { do: 'settle', settlement: settlementOf(stream, round, context) };
  if (phase.do === 'walk') {
    if (isTooOld(phase.query, context))
      return { do: 'go', checkpoint: withRound(checkpoint, { ...round, read: null, phases: rest }) };
    return beginRead(checkpoint, context, { as: phase.as, path: stream.path, query: phase.query });
  }
  if (phase.ids.length === 0) return { do: 'ask', ask: phase };
  const asking = withRound(checkpoint, { ...round, phases: [{ ...phase, asked: phase.asked + 1 }, ...rest] });
  return beginRead(asking, context, askedRead(stream, phase, context));
}

/**
 * A round whose bound may not be sent any more (R3) is given up. Beside a scan that has failed in this run no other may follow
 * it: its feeds are left out instead, and it moves no watermark (R9).
 */
function giveUp(checkpoint: Checkpoint, { run }: Context): Step {
  const round = checkpoint.round as Round;
  if (checkpoint.scanTriedInRun !== run) return { do: 'forget', checkpoint: withoutRound(checkpoint), which: 'all' };
  const phases = round.phases.filter((phase) => phase.do !== 'walk');
  return { do: 'go', checkpoint: withRound(checkpoint, { ...round, phases, read: null, incomplete: true }) };
}

/** A `--full` that begins a cycle goes on with nothing that was read before it (R6). */
function isForFull({ pass }: Round, context: Context): boolean {
  return context.options.full && context.pass === context.run && pass !== context.pass;
}

/**
 * A read goes on from where it stood, but starts anew where its pages are larger than the run asks for; one that stands at its
 * first page also where they are larger than the stream's pages may be (R6, R24).
 */
function goOn(checkpoint: Checkpoint, read: Read, context: Context): Move {
  const limit = Number(read.query['limit']);
  const most = read.cursor === null ? pageLimitOf(checkpoint, context) : context.options.pageSize;
  if (limit <= most) return fetch(checkpoint, read);
  const query = { ...read.query, limit: pageLimitOf(checkpoint, context) };
  const anew = { ...untried(read), query, cursor: null, at: context.now };
  const round = checkpoint.round as Round;
  return { do: 'forget', checkpoint: withRound(checkpoint, { ...round, read: anew }), which: read.number };
}

/** How many rows a page of the stream is asked to have. */
function pageLimitOf({ pageLimit }: Checkpoint, { options }: Context): number {
  return Math.min(options.pageSize, pageLimit?.rows ?? options.pageSize);
}

/** Puts the next chunk of what is owed into the phase under way, or ends the phase when nothing is. */
export function askFor(stream: Stream, checkpoint: Checkpoint, context: Context, owed: Owed): Go {
  const round = checkpoint.round as Round;
  const [phase, ...rest] = round.phases as [Ask, ...Phase[]];
  const go = (next: Partial<Round>): Go => ({ do: 'go', checkpoint: withRound(checkpoint, { ...round, ...next }) });
  if (owed.ids.length === 0) return go({ phases: rest });
  if (CONFIRMING.has(phase.about) && phase.asked + stream.variants.length > MAX_CONFIRMATIONS)
    return go({ phases: rest, askedThrough: phase.after });
  const { ids, tooLong } = nextChunk(parameterOf(stream, phase.about), owed.ids);
  const passedOver = tooLong.length === 0 ? {} : { passedOver: waiting(round, phase.about, tooLong) };
  if (ids.length === 0)
    return { ...go({ phases: [{ ...phase, after: owed.ids.at(-1) as string }, ...rest] }), ...passedOver };
  // Of a scan that waits, or has failed in this run, there is no second one beside it (R9).
  const mayScan = checkpoint.waitingScan === null && checkpoint.scanTriedInRun !== context.run;
  if (mayScan && isDearer(stream, ids, owed, context)) return go(scanned(stream, checkpoint, context));
  const unpaid = phase.about === 'unshown' ? ids : [];
  return { ...go({ phases: [{ ...phase, ids, unpaid, variant: 0 }, ...rest] }), ...passedOver };
}

/** What could not be asked for, because its id is too long for a URL, stays as it is: rows count as seen, marks wait (R12). */
export function waiting({ lastMark, run }: Round, about: Ask['about'], ids: readonly string[]): PassedOver {
  // What stands rejected does so without being asked for: it owes nothing else (R20).
  if (about === 'rejected') return {};
  // As no read saw them, starting one again does not forget them (R7).
  if (about === 'candidates') return { seen: { keys: ids.map((id) => [id]), readNumber: 0 } };
  return { left: { ids, lastMark, run, makes: about === 'unshown' } };
}

/** The next ids that one request holds, and those before the last of them that none can hold (R12). */
function nextChunk(parameter: string, owed: readonly string[]): Record<'ids' | 'tooLong', readonly string[]> {
  const ids = firstChunk(
    parameter,
    owed.filter((id) => fitsUrl(parameter, id)),
  );
  const through = ids.length === 0 ? owed.length : owed.indexOf(ids.at(-1) as string);
  return { ids, tooLong: owed.slice(0, through).filter((id) => !fitsUrl(parameter, id)) };
}

/** Whether asking for all that is owed takes more requests than a scan (R13, R18, R22). */
function isDearer({ variants }: Stream, ids: readonly string[], { weighed }: Owed, { options }: Context): boolean {
  if (weighed === null) return false;
  const asking = Math.ceil(weighed.ids / ids.length) * variants.length;
  return asking > Math.max(1, Math.ceil(weighed.rows / options.pageSize)) + variants.length - 1;
}

/** The round as a scan in place of what it was about to ask for; a sweep needs the tombstones once more, after it (R12). */
function scanned(stream: Stream, checkpoint: Checkpoint, context: Context): Round {
  const round = checkpoint.round as Round;
  const since = boundOf(checkpoint, context);
  const sweeping = [...(since === null ? [] : [feed('tombstones', since, context)]), ask('candidates')];
  const phases = [...scans(stream, context), ...(stream.method === 'feed' ? sweeping : [ask('unshown')])];
  return { ...round, mode: 'scan', reason: 'fewer-requests', sweeps: true, phases };
}

/** Begins the reading of the next due test, or ends the phase when there is none (R22). */
export function askForTest(stream: Stream, checkpoint: Checkpoint, context: Context, due: DueTest | null): Move {
  const round = checkpoint.round as Round;
  const [phase, ...rest] = round.phases as [Ask, ...Phase[]];
  if (due === null || context.now === null || context.latest === null) {
    return { do: 'go', checkpoint: withRound(checkpoint, { ...round, phases: rest }) };
  }
  const opens = addDays(context.latest, -WINDOW_DAYS);
  // A reading in the future is not believed, as no watermark is (R1).
  const readAt =
    due.readAt !== null && due.readAt > addSeconds(context.now, CLOCK_TOLERANCE_SECONDS) ? null : due.readAt;
  const wanted = readAt === null || due.hasRejected ? opens : addDays(readAt, -LATE_DAYS);
  const known = readAt ?? due.knownFrom;
  const gap = known !== null && known < opens ? { from: known, to: opens } : null;
  const query = {
    start_time_from: wanted < opens ? opens : wanted,
    order_by: 'start_time',
    direction: 'asc',
    limit: Math.min(context.options.pageSize, due.pageLimit ?? context.options.pageSize),
  };
  const path = stream.path.map((segment) => (segment === '{id}' ? due.id : segment));
  const reading = { testId: due.id, mirroredAt: due.mirroredAt, gap };
  const asking = withRound(checkpoint, { ...round, phases: [{ ...phase, ids: [due.id] }, ...rest] });
  return beginRead(asking, context, { as: 'tests', path, query, reading });
}

export function withRound(checkpoint: Checkpoint, round: Round): Checkpoint {
  return { ...checkpoint, round };
}

/** The checkpoint as a round begins: a scan takes over what made it due, so that what comes up from now on stands (R13). */
export function begun(checkpoint: Checkpoint, round: Round): Checkpoint {
  if (round.mode !== 'scan') return { ...checkpoint, round };
  return { ...checkpoint, scanDue: null, scanTriedInRun: null, waitingScan: null, round };
}

/** Candidates of a sweep, and what no read has shown, are asked for in at most so many requests (R12, R18). */
const MAX_CONFIRMATIONS = 20;
const CONFIRMING: ReadonlySet<Ask['about']> = new Set(['candidates', 'unshown']);

interface NewRead {
  readonly as: Read['as'];
  readonly path: readonly string[];
  readonly query: Query;
  readonly reading?: Read['reading'];
}

function beginRead(checkpoint: Checkpoint, context: Context, wanted: NewRead): Move {
  const round = checkpoint.round as Round;
  const number = round.reads + 1;
  const firstConfirmation = round.firstConfirmation ?? (wanted.as === 'candidates' ? number : null);
  const limit = Math.min(Number(wanted.query['limit']), pageLimitOf(checkpoint, context));
  const read: Read = {
    ...wanted,
    query: { ...wanted.query, limit },
    reading: wanted.reading ?? null,
    number,
    cursor: null,
    at: context.now,
    restarts: 0,
    restartRun: context.run,
    halvedRun: null,
  };
  return fetch(withRound(checkpoint, { ...round, read, reads: number, firstConfirmation }), read);
}

function fetch(checkpoint: Checkpoint, { path, query, cursor, failedTries = 0 }: Read): Move {
  const request = { path, query, cursor, ...(failedTries === 0 ? {} : { failedTries }) };
  return { do: 'fetch', request, checkpoint };
}

/** The read of a chunk in its present variant. */
function askedRead(stream: Stream, phase: Ask, context: Context): NewRead {
  const query = {
    ...stream.variants[phase.variant],
    [parameterOf(stream, phase.about)]: phase.ids,
    limit: context.options.pageSize,
  };
  const path = phase.about === 'unshown' ? (stream.leader?.path ?? stream.path) : stream.path;
  return { as: phase.about, path, query };
}

function parameterOf(stream: Stream, about: Ask['about']): string {
  if (about === 'unshown') return 'ids';
  return (about === 'owned' ? stream.owners[0]?.parameter : stream.idsParameter) ?? 'ids';
}

/**
 * Whether the round has to be given up because a bound of it reaches too far back to be sent again (R3). A scan only
 * loses its tombstones feed by that.
 */
function outOfReach(round: Round, context: Context): boolean {
  if (round.mode === 'scan') return false;
  const next = round.phases[0];
  return isTooOld(round.read?.query ?? (next?.do === 'walk' ? next.query : {}), context);
}

function isTooOld(query: Query, context: Context): boolean {
  const { now, options } = context;
  const bound = query['synced_since'] ?? query['deleted_since'];
  if (bound !== undefined) return isOutOfLookback(String(bound), context);
  const opens = query['start_time_from'];
  if (opens === undefined || now === null) return false;
  return String(opens) < addSeconds(addDays(now, -WINDOW_DAYS), -options.overlapSeconds);
}

function settlementOf(stream: Stream, round: Round, context: Context): Settlement {
  const at = round.firstPageAt ?? context.now;
  const sweeps = stream.method === 'feed' && round.mode === 'scan' && round.sweeps;
  const through = round.refuted ? round.askedThrough : null;
  return {
    sweep: sweeps ? { at } : null,
    through,
    rememberFrom: sweeps && isScannedAgain(round) ? round.firstConfirmation : null,
    replace: stream.staged === undefined ? null : round.mode === 'marked' ? 'marked' : 'all',
    lastMark: round.lastMark,
    run: round.run,
    isWhole: round.mode === 'scan' || round.mode === 'snapshot',
  };
}

/** Whether candidates of a sweep stay that only another scan can decide on; it is made once (R12). */
export function isScannedAgain({ refuted, askedThrough, due }: Round): boolean {
  return refuted && askedThrough !== null && due !== 'refuted';
}
