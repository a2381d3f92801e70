import type { Checkpoint, Read, ReadCheckpoint, RoundCheckpoint } from './checkpoint.ts';
import type { Context } from './context.ts';
import { type DecodedPage, joinKey } from './decode.ts';
import type { PageCommit } from './destination.ts';
import { SyncError } from './errors.ts';
import { fillTypedRows, isFilled, mayLag } from './fill-typed-rows.ts';
import { addSeconds } from './instant.ts';
import { changeMarks } from './marks.ts';
import { newestWins, type RowChange, withoutFuture } from './newest-wins.ts';
import { cursorFault } from './paging.ts';
import { isLastVariant, stepsAfter, unpaidOf, untried, withRound } from './round.ts';
import type { Page } from './source.ts';
import type { Row, Stream, StreamName } from './stream.ts';
import { isFeedRead, trustedUntilOf } from './trusted-until.ts';

/** A fetched page, or a slice of a heavy one, on its way into the mirror, with what is known when it arrives. */
export interface PageInput {
  readonly stream: Stream;
  /** As `nextStep` gave it with the request. */
  readonly checkpoint: ReadCheckpoint;
  readonly page: Page;
  readonly decoded: DecodedPage;
  /** Rows the mirror holds under the page's keys, by joined key. */
  readonly existing: ReadonlyMap<string, Row>;
  /** Cursors met before in this read and run (R8). */
  readonly visitedCursors: ReadonlySet<string>;
  /** Streams that have marks made for them: their first scan has begun. */
  readonly markableStreams: ReadonlySet<StreamName>;
}

/** What a page changes, and how many of its rows came later than the overlap allows for (R2). */
export interface PageOutcome {
  readonly commit: PageCommit & { readonly checkpoint: RoundCheckpoint };
  readonly late: number;
}

/** Page in, changes and the next checkpoint out. @throws SyncError `restart-round` when the cursor leads nowhere (R8) */
export function pageOutcome(pageInput: PageInput, context: Context): PageOutcome {
  const { stream, checkpoint, decoded } = pageInput;
  const { round } = checkpoint;
  const { read } = round;
  refuseBadCursor(pageInput, read);
  if (read.as === 'unshown') return confirmed(pageInput, read, context);
  const effect = PAGE_EFFECTS[effectKindOf(stream)](pageInput, read, context);
  const returnedKeys = decoded.rows.map((row) => row.key);
  const dead = isFeedRead(read) ? [] : stillDeleted(pageInput, effect.changes ?? []);
  const unpaid = read.as === 'owned' ? [...new Set([...unpaidOf(round), ...dead])] : [];
  const next = nextCheckpoint(pageInput, unpaid, context);
  const { lastMark, run } = round;
  const leftMarks: PageEffect =
    read.as === 'owned' || dead.length === 0 ? {} : { leftMarks: { ids: dead, lastMark, run, makes: true } };
  const end = readEnd(pageInput, read, unpaid);
  const commit = {
    kind: 'page' as const,
    returnedKeys,
    ...effect,
    ...leftMarks,
    ...end,
    checkpoint: next,
    rejected: decoded.rejected,
  };
  return { commit, late: lateRows(pageInput, read, effect.changes ?? [], context) };
}

/** A page of the leading list: whose row it shows owes nothing any more, if the mirror has all of that row (R18, R22). */
function confirmed(pageInput: PageInput, read: Read, context: Context): PageOutcome {
  const { stream, checkpoint, decoded, existing } = pageInput;
  const paid = decoded.rows
    .map(({ key }) => joinKey(key))
    .filter((id) => isFilled(stream, existing.get(id)) && !mayLag(existing.get(id), read, context));
  const unpaid = unpaidOf(checkpoint.round).filter((id) => !paid.includes(id));
  const next = nextCheckpoint(pageInput, unpaid, context);
  const end = readEnd(pageInput, read, unpaid);
  return { commit: { kind: 'page', returnedKeys: [], ...end, checkpoint: next }, late: 0 };
}

/** Owners of rows that were shown and that a younger tombstone still holds down: they are asked for again (R13). */
function stillDeleted({ stream, decoded, existing }: PageInput, changes: readonly RowChange[]): readonly string[] {
  const { parent } = stream;
  if (parent === undefined) return [];
  const after = new Map(changes.map(({ row }) => [row[stream.key[0]], row]));
  const dead = decoded.rows
    .filter(({ deletedAt }) => deletedAt === null)
    .map(({ key, row }) => ({
      parentId: row[parent.by],
      row: after.get(joinKey(key)) ?? existing.get(joinKey(key)),
    }))
    .filter(({ parentId, row }) => typeof parentId === 'string' && row !== undefined && row['deleted_at'] !== null);
  return [...new Set(dead.map(({ parentId }) => String(parentId)))];
}

type PageEffect = Omit<PageCommit, 'kind' | 'checkpoint'>;

/** What the rows of a page do, by the nature of their stream. */
const PAGE_EFFECTS = { merge: mergeRows, fill: fillRows, stage: stageRows, archive: archiveRows } as const;

function effectKindOf(stream: Stream): keyof typeof PAGE_EFFECTS {
  if (stream.method === 'feed') return 'merge';
  if (stream.method === 'window') return 'archive';
  return stream.subtype === undefined ? 'stage' : 'fill';
}

/** Rows of a feed stream: the newest wins (R10). */
function mergeRows(
  { stream, checkpoint, decoded, existing, markableStreams }: PageInput,
  read: Read,
  context: Context,
): PageEffect {
  const floor = trustedUntilOf(read, context);
  const changes = new Map<string, RowChange>();
  for (const shown of decoded.rows) {
    const key = joinKey(shown.key);
    const before = changes.get(key);
    const believed = withoutFuture(existing.get(key), context.latestServerTime);
    const change = newestWins(stream, before?.row ?? believed, shown, floor) ?? rewritten(existing.get(key), believed);
    if (change !== null)
      changes.set(key, before === undefined ? change : { ...change, kind: combined(before.kind, change.kind) });
  }
  const list = [...changes.values()];
  const granted = visibleSince(checkpoint, read);
  const marks = [...changes]
    .flatMap(([key, change]) => changeMarks(stream, existing.has(key) ? change : firstTombstone(change), granted))
    .filter((mark) => markableStreams.has(mark.stream));
  // A tombstone that an overruled row outlives shows nothing of that row.
  const shown = decoded.rows.filter((row) => row.deletedAt === null || changes.has(joinKey(row.key)));
  return {
    changes: list,
    marks,
    returnedKeys: shown.map((row) => row.key),
    ...seen(checkpoint, read, decoded),
  };
}

/** A row that is shown as it is held, but for a time that is no longer believed (R10). */
function rewritten(held: Row | undefined, believed: Row | undefined): RowChange | null {
  if (believed === undefined || believed === held) return null;
  return { row: believed, kind: believed['deleted_at'] === null ? 'updated' : 'tombstoned' };
}

/** A row that the mirror knows by its tombstone alone counts as deleted: the mirror may hold rows that belong to it (R13). */
function firstTombstone(rowChange: RowChange): RowChange {
  return rowChange.kind === 'tombstoned' ? { ...rowChange, kind: 'deleted' } : rowChange;
}

/** Two changes of one row on one page, as one. */
function combined(first: RowChange['kind'], second: RowChange['kind']): RowChange['kind'] {
  if (second === 'updated') return first;
  if (first === 'inserted') return 'tombstoned';
  if (first === 'deleted') return second === 'restored' ? 'updated' : 'deleted';
  return second;
}

/** Typed fields; what a feed has not paid is asked for by id in the same round, what an answer has not, in a later run (R22). */
function fillRows({ stream, checkpoint, decoded, existing }: PageInput, read: Read, context: Context): PageEffect {
  const { lastMark, run } = checkpoint.round;
  const { changes, paid, early } = fillTypedRows({ stream, rows: decoded.rows, held: existing }, read, context);
  const leftMarks: PageEffect =
    early.length === 0 || isFeedRead(read) ? {} : { leftMarks: { ids: early, lastMark, run, makes: true } };
  return { changes, clearedMarks: { ids: paid, lastMark: null }, ...leftMarks };
}

/** Rows of a snapshot or of lineage wait beside the table; those kept for ever are written at once (R16, R17). */
function stageRows({ stream, checkpoint, decoded }: PageInput, read: Read): PageEffect {
  return {
    staged: { rows: decoded.rows, readNumber: read.number },
    ...(stream.historyTables === undefined ? {} : { archived: decoded.rows }),
    // A rejected row was seen: what the mirror holds of it stays (R12).
    ...seen(checkpoint, read, { rows: [], rejected: decoded.rejected }, true),
  };
}

/** Rows of a history are kept for ever in the stream's own table (R17). */
function archiveRows({ decoded }: PageInput): PageEffect {
  return { archived: decoded.rows };
}

/** Keys to keep for the sweep, rejected ones included (R12). */
function seen(
  checkpoint: RoundCheckpoint,
  read: Read,
  { rows, rejected }: Pick<DecodedPage, 'rows' | 'rejected'>,
  always = false,
): PageEffect {
  const isKept = isFeedRead(read)
    ? countsForScan(checkpoint, read)
    : always || checkpoint.round.sweeps || read.as === 'owned';
  if (!isKept) return {};
  const keys = [
    ...rows.filter((row) => row.deletedAt === null).map((row) => row.key),
    ...rejected.flatMap((row) => (row.key ? [row.key] : [])),
  ];
  return keys.length === 0 ? {} : { seen: { keys, readNumber: read.number } };
}

/** What the upserts show while a scan waits, that scan need not see (R9). */
function countsForScan({ waitingScan }: Checkpoint, { as }: Read): boolean {
  return as === 'upserts' && waitingScan?.sweeps === true;
}

/**
 * A row that a later scan finds for the first time, though it is older than the last round, has become visible with a
 * permission: what it owns has, too, and no feed tells (R13). The second is what T is rounded down by.
 */
function visibleSince({ watermark }: Checkpoint, read: Read): string | null {
  return isFeedRead(read) || watermark === null ? null : addSeconds(watermark, 1);
}

/** The end of a read may settle more than its last page (R13, R18). `unpaid` are ids of its chunk whose marks stay. */
function readEnd({ stream, checkpoint, page, decoded }: PageInput, read: Read, unpaid: readonly string[]): PageEffect {
  const { lastMark, run, steps } = checkpoint.round;
  const [step] = steps;
  if (page.hasMore || decoded.isPart) return {};
  if (read.history !== null && read.at !== null)
    return { historyRead: { ...read.history, readAt: read.at, since: read.restartRun } };
  if (step?.do !== 'look-up' || !isLastVariant(stream, step)) return {};
  if (step.about === 'rejected') return { notShown: { ids: step.ids, since: run } };
  const makes = stream.staged !== undefined;
  const leftMarks: PageEffect = unpaid.length === 0 ? {} : { leftMarks: { ids: unpaid, lastMark, run, makes } };
  if (step.about !== 'owned' || stream.parent === undefined) return leftMarks;
  const { by } = stream.parent;
  return {
    clearedMarks: { ids: step.ids.filter((id) => !unpaid.includes(id)), lastMark },
    ...leftMarks,
    sweptParents: { by, ids: step.ids, sinceRead: read.number - step.variant, at: read.at },
  };
}

function nextCheckpoint(pageInput: PageInput, unpaid: readonly string[], { serverTime }: Context): RoundCheckpoint {
  const { stream, checkpoint, page, decoded } = pageInput;
  const { round } = checkpoint;
  const [step, ...rest] = round.steps;
  const steps = step?.do === 'look-up' ? [{ ...step, unpaid }, ...rest] : round.steps;
  const shown = {
    firstPageAt: round.pages === 0 ? serverTime : round.firstPageAt,
    sweepContradicted: round.sweepContradicted || isContradicted(pageInput, round.read, unpaid),
    consecutiveNotFound: 0,
  };
  // Until all of a heavy page is written, it is read again after a stop (R5, R27).
  if (decoded.isPart) return withRound(checkpoint, { ...shown, steps });
  const pages = round.pages + 1;
  if (page.hasMore)
    return withRound(checkpoint, { ...shown, steps, pages, read: { ...untried(round.read), cursor: page.nextCursor } });
  return withRound(checkpoint, { ...shown, steps: stepsAfter(stream, steps), pages, read: null });
}

/** Whether an answer says of what the reads have not shown that it is there (R12), or that it may be out of sight (R18). */
function isContradicted({ page, decoded }: PageInput, { as }: Read, unpaid: readonly string[]): boolean {
  const isWhole = !page.hasMore && !decoded.isPart;
  return (as === 'candidates' && hasReturned(decoded)) || (as === 'unshown' && isWhole && unpaid.length > 0);
}

/** Whether an answer shows anything that was thought gone, acceptable or not (R12). */
function hasReturned({ rows, rejected }: DecodedPage): boolean {
  return rejected.some((row) => row.key !== null) || rows.some((row) => row.deletedAt === null);
}

/** Live rows a scan found changed that the feeds should have shown: the overlap is too small (R2). */
function lateRows(
  { stream, checkpoint }: PageInput,
  read: Read,
  changes: readonly RowChange[],
  { options }: Context,
): number {
  const { scannedAt, watermark } = checkpoint;
  if (stream.method !== 'feed' || read.as !== 'scan' || scannedAt === null || watermark === null) return 0;
  const until = addSeconds(watermark, -options.overlapSeconds);
  return changes.filter(
    ({ row, kind }) => kind === 'updated' && String(row['synced_at']) > scannedAt && String(row['synced_at']) < until,
  ).length;
}

/** R8: only `has_more` ends a read, so a cursor has to lead on. */
function refuseBadCursor({ stream, page, visitedCursors }: PageInput, read: Read): void {
  const fault = cursorFault(page, (cursor) => cursor === read.cursor || visitedCursors.has(cursor));
  if (fault === null) return;
  throw new SyncError(
    'restart-round',
    `${stream.path.join('/')} ${fault}; the read starts anew in the next run, report it if it stays`,
  );
}
