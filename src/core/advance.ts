import { type Ask, type Checkpoint, type Phase, type Read, type Round, untried } from './checkpoint.ts';
import type { Context } from './context.ts';
import { type DecodedPage, joinKey } from './decode.ts';
import type { Commit } from './destination.ts';
import { SyncError } from './errors.ts';
import { fill, isFilled, mayLag } from './fill.ts';
import { floorOf, isFeed } from './floor.ts';
import { addSeconds } from './instant.ts';
import { changeMarks } from './marks.ts';
import { type Change, newestWins, withoutFuture } from './newest-wins.ts';
import { withRound } from './plan.ts';
import type { Page } from './source.ts';
import type { Row, Stream, StreamName } from './stream.ts';

/** A fetched page, or a slice of a heavy one, on its way into the mirror, with what is known when it arrives. */
export interface Arrival {
  readonly stream: Stream;
  /** As `plan` gave it with the request. */
  readonly checkpoint: Checkpoint;
  readonly page: Page;
  readonly decoded: DecodedPage;
  /** Rows the mirror holds under the page's keys, by joined key. */
  readonly held: ReadonlyMap<string, Row>;
  /** Cursors met before in this read and run (R8). */
  readonly met: ReadonlySet<string>;
  /** Streams that have marks made for them: their first scan has begun. */
  readonly marking: ReadonlySet<StreamName>;
}

/** What a commit is made of, and how many rows came later than the overlap allows for (R2). */
export interface Advance {
  readonly commit: Commit;
  readonly late: number;
}

/** Page in, changes and the next checkpoint out. @throws SyncError `reread` when the cursor leads nowhere (R8) */
export function advance(arrival: Arrival, context: Context): Advance {
  const { stream, checkpoint, decoded } = arrival;
  const round = checkpoint.round as Round;
  const read = round.read as Read;
  refuseBadCursor(arrival, read);
  if (read.as === 'unshown') return confirmed(arrival, read, context);
  const effect = EFFECTS[effectOf(stream)](arrival, read, context);
  const shown = decoded.rows.map((row) => row.key);
  const dead = isFeed(read) ? [] : stillDead(arrival, effect.changes ?? []);
  const unpaid = read.as === 'owned' ? [...new Set([...(phaseOf(checkpoint) as Ask).unpaid, ...dead])] : [];
  const next = nextCheckpoint(arrival, unpaid, context);
  const { lastMark, run } = round;
  const left = read.as === 'owned' || dead.length === 0 ? {} : { left: { ids: dead, lastMark, run, makes: true } };
  const end = readEnd(arrival, read, unpaid);
  const commit = { shown, ...effect, ...left, ...end, checkpoint: next, rejected: decoded.rejected };
  return { commit, late: lateRows(arrival, read, effect.changes ?? [], context) };
}

/** A page of the leading list: whose row it shows owes nothing any more, if the mirror has all of that row (R18, R22). */
function confirmed(arrival: Arrival, read: Read, context: Context): Advance {
  const { stream, checkpoint, decoded, held } = arrival;
  const paid = decoded.rows
    .map(({ key }) => key[0] as string)
    .filter((id) => isFilled(stream, held.get(id)) && !mayLag(held.get(id), read, context));
  const unpaid = (phaseOf(checkpoint) as Ask).unpaid.filter((id) => !paid.includes(id));
  const next = nextCheckpoint(arrival, unpaid, context);
  return { commit: { shown: [], ...readEnd(arrival, read, unpaid), checkpoint: next }, late: 0 };
}

/** Owners of rows that were shown and that a younger tombstone still holds down: they are asked for again (R13). */
function stillDead({ stream, decoded, held }: Arrival, changes: readonly Change[]): readonly string[] {
  const [owner] = stream.owners;
  if (owner?.parameter === undefined) return [];
  const { by } = owner;
  const after = new Map(changes.map(({ row }) => [row[stream.key[0] as string], row]));
  const dead = decoded.rows
    .filter(({ deletedAt }) => deletedAt === null)
    .map(({ key, row }) => ({ owner: row[by], row: after.get(key[0] as string) ?? held.get(joinKey(key)) }))
    .filter(({ owner, row }) => typeof owner === 'string' && row !== undefined && row['deleted_at'] !== null);
  return [...new Set(dead.map(({ owner }) => String(owner)))];
}

function phaseOf({ round }: Checkpoint): Phase | undefined {
  return round?.phases[0];
}

type Effect = Omit<Commit, 'checkpoint'>;

/** What the rows of a page do, by the nature of their stream. */
const EFFECTS = { merge: mergeRows, fill: fillRows, stage: stageRows, archive: archiveRows } as const;

function effectOf(stream: Stream): keyof typeof EFFECTS {
  if (stream.method === 'feed') return 'merge';
  if (stream.method === 'window') return 'archive';
  return stream.within === undefined ? 'stage' : 'fill';
}

/** Rows of a feed stream: the newest wins (R10). */
function mergeRows({ stream, checkpoint, decoded, held, marking }: Arrival, read: Read, context: Context): Effect {
  const floor = floorOf(read, context);
  const changes = new Map<string, Change>();
  for (const shown of decoded.rows) {
    const key = joinKey(shown.key);
    const before = changes.get(key);
    const believed = withoutFuture(held.get(key), context.latest);
    const change = newestWins(stream, before?.row ?? believed, shown, floor) ?? rewritten(held.get(key), believed);
    if (change !== null)
      changes.set(key, before === undefined ? change : { ...change, was: combined(before.was, change.was) });
  }
  const list = [...changes.values()];
  const granted = grantedBefore(checkpoint, read);
  const marks = [...changes]
    .flatMap(([key, change]) => changeMarks(stream, held.has(key) ? change : unheard(change), granted))
    .filter((mark) => marking.has(mark.stream));
  // A tombstone that an overruled row outlives shows nothing of that row.
  const shown = decoded.rows.filter((row) => row.deletedAt === null || changes.has(joinKey(row.key)));
  return {
    changes: list,
    marks,
    shown: shown.map((row) => row.key),
    ...seen(checkpoint, read, decoded),
  };
}

/** A row that is shown as it is held, but for a time that is no longer believed (R10). */
function rewritten(held: Row | undefined, believed: Row | undefined): Change | null {
  if (believed === undefined || believed === held) return null;
  return { row: believed, was: believed['deleted_at'] === null ? 'updated' : 'buried' };
}

/** A row whose tombstone is the first that is heard of it went as any other: what it owns may be held (R13). */
function unheard(change: Change): Change {
  return change.was === 'buried' ? { ...change, was: 'deleted' } : change;
}

/** Two changes of one row on one page, as one. */
function combined(first: Change['was'], second: Change['was']): Change['was'] {
  if (second === 'updated') return first;
  if (first === 'inserted') return 'buried';
  if (first === 'deleted') return second === 'revived' ? 'updated' : 'deleted';
  return second;
}

/** Typed fields; what a feed has not paid is asked for by id in the same round, what an answer has not, in a later run (R22). */
function fillRows({ stream, checkpoint, decoded, held }: Arrival, read: Read, context: Context): Effect {
  const { lastMark, run } = checkpoint.round as Round;
  const { changes, paid, early } = fill({ stream, rows: decoded.rows, held }, read, context);
  const left = early.length === 0 || isFeed(read) ? {} : { left: { ids: early, lastMark, run, makes: true } };
  return { changes, paid: { ids: paid, lastMark: null }, ...left };
}

/** Rows of a snapshot or of lineage wait beside the table; those kept for ever are written at once (R16, R17). */
function stageRows({ stream, checkpoint, decoded }: Arrival, read: Read): Effect {
  return {
    staged: { rows: decoded.rows, readNumber: read.number },
    ...(stream.archives === undefined ? {} : { archived: decoded.rows }),
    // A rejected row was seen: what the mirror holds of it stays (R12).
    ...seen(checkpoint, read, { rows: [], rejected: decoded.rejected }, true),
  };
}

/** Rows of a history are kept for ever in the stream's own table (R17). */
function archiveRows({ decoded }: Arrival): Effect {
  return { archived: decoded.rows };
}

/** Keys to keep for the sweep, rejected ones included (R12). */
function seen(
  checkpoint: Checkpoint,
  read: Read,
  { rows, rejected }: Pick<DecodedPage, 'rows' | 'rejected'>,
  always = false,
): Effect {
  const isKept = isFeed(read) ? countsForScan(checkpoint, read) : always || sweeps(checkpoint) || read.as === 'owned';
  if (!isKept) return {};
  const keys = [
    ...rows.filter((row) => row.deletedAt === null).map((row) => row.key),
    ...rejected.flatMap((row) => (row.key ? [row.key] : [])),
  ];
  return keys.length === 0 ? {} : { seen: { keys, readNumber: read.number } };
}

function sweeps({ round }: Checkpoint): boolean {
  return round?.sweeps === true;
}

/** What the upserts show while a scan waits, that scan need not see (R9). */
function countsForScan({ waitingScan }: Checkpoint, { as }: Read): boolean {
  return as === 'upserts' && waitingScan?.sweeps === true;
}

/**
 * A row that a later scan finds for the first time, though it is older than the last round, has become visible with a
 * permission: what it owns has, too, and no feed tells (R13). The second is what T is rounded down by.
 */
function grantedBefore({ watermark }: Checkpoint, read: Read): string | null {
  return isFeed(read) || watermark === null ? null : addSeconds(watermark, 1);
}

/** The end of a read may settle more than its last page (R13, R18). `unpaid` are ids of its chunk whose marks stay. */
function readEnd({ stream, checkpoint, page, decoded }: Arrival, read: Read, unpaid: readonly string[]): Effect {
  const { lastMark, run, phases } = checkpoint.round as Round;
  const [phase] = phases;
  if (page.hasMore || decoded.isPart) return {};
  if (read.reading !== null && read.at !== null)
    return { reading: { ...read.reading, readAt: read.at, since: read.restartRun } };
  if (phase?.do !== 'ask' || !isLastVariant(stream, phase)) return {};
  if (phase.about === 'rejected') return { notShown: { ids: phase.ids, since: run } };
  const makes = stream.staged !== undefined;
  const left = unpaid.length === 0 ? {} : { left: { ids: unpaid, lastMark, run, makes } };
  if (phase.about !== 'owned') return left;
  const paid = { ids: phase.ids.filter((id) => !unpaid.includes(id)), lastMark };
  const by = stream.owners[0]?.by as string;
  return { paid, ...left, disowned: { by, ids: phase.ids, sinceRead: read.number - phase.variant, at: read.at } };
}

function nextCheckpoint(arrival: Arrival, unpaid: readonly string[], { now }: Context): Checkpoint {
  const { stream, checkpoint, page, decoded } = arrival;
  const before = checkpoint.round as Round;
  const read = before.read as Read;
  const round: Round = {
    ...before,
    pages: before.pages + 1,
    firstPageAt: before.pages === 0 ? now : before.firstPageAt,
    refuted: before.refuted || isRefuted(arrival, read, unpaid),
    misses: 0,
  };
  const [phase, ...rest] = round.phases;
  const phases = phase?.do === 'ask' ? [{ ...phase, unpaid }, ...rest] : round.phases;
  // Until all of a heavy page is written, it is read again after a stop (R5, R27).
  if (decoded.isPart) return withRound(checkpoint, { ...round, phases, pages: before.pages });
  if (page.hasMore)
    return withRound(checkpoint, { ...round, phases, read: { ...untried(read), cursor: page.nextCursor } });
  return withRound(checkpoint, { ...round, phases: phasesAfter(stream, phases), read: null });
}

/** Whether an answer says of what the reads have not shown that it is there (R12), or that it may be out of sight (R18). */
function isRefuted({ page, decoded }: Arrival, { as }: Read, unpaid: readonly string[]): boolean {
  const isWhole = !page.hasMore && !decoded.isPart;
  return (as === 'candidates' && cameBack(decoded)) || (as === 'unshown' && isWhole && unpaid.length > 0);
}

/** Whether an answer shows anything that was thought gone, acceptable or not (R12). */
function cameBack({ rows, rejected }: DecodedPage): boolean {
  return rejected.some((row) => row.key !== null) || rows.some((row) => row.deletedAt === null);
}

/** A walk is over with its read; an ask goes on with the next variant of its chunk, then with the next chunk. */
export function phasesAfter(stream: Stream, [phase, ...rest]: readonly Phase[]): readonly Phase[] {
  if (phase?.do !== 'ask') return rest;
  if (!isLastVariant(stream, phase)) return [{ ...phase, variant: phase.variant + 1 }, ...rest];
  return [{ ...phase, after: phase.ids.at(-1) ?? phase.after, ids: [], unpaid: [], variant: 0 }, ...rest];
}

/** Lineage and typed assets have one list; where there are two, rows asked for by id may be in either (R12). */
function isLastVariant(stream: Stream, phase: Ask): boolean {
  return phase.variant + 1 >= stream.variants.length;
}

/** Live rows a scan found changed that the feeds should have shown: the overlap is too small (R2). */
function lateRows(
  { stream, checkpoint }: Arrival,
  read: Read,
  changes: readonly Change[],
  { options }: Context,
): number {
  const { scannedAt, watermark } = checkpoint;
  if (stream.method !== 'feed' || read.as !== 'scan' || scannedAt === null || watermark === null) return 0;
  const until = addSeconds(watermark, -options.overlapSeconds);
  return changes.filter(
    ({ row, was }) => was === 'updated' && String(row['synced_at']) > scannedAt && String(row['synced_at']) < until,
  ).length;
}

/** R8: only `has_more` ends a read, so a cursor has to lead on. */
function refuseBadCursor({ stream, page, met }: Arrival, read: Read): void {
  if (!page.hasMore) return;
  const fault =
    page.nextCursor === null ? 'says that there is more but gives no cursor' : 'gives a cursor that it gave before';
  if (page.nextCursor !== null && page.nextCursor !== read.cursor && !met.has(page.nextCursor)) return;
  throw new SyncError(
    'reread',
    `${stream.path.join('/')} ${fault}: the service pages wrongly; the read starts anew in the next run, report it if it stays`,
  );
}
