import type { Checkpoint, Read, RoundCheckpoint } from '../checkpoint.ts';
import type { Context } from '../context.ts';
import { type DecodedPage, joinKey } from '../decode/decode.ts';
import { SyncError } from '../errors.ts';
import type { PageCommit } from '../ports/destination.ts';
import type { Row, Stream } from '../stream.ts';
import { addSeconds } from '../time/instant.ts';
import { fillTypedRows } from './fill-typed-rows.ts';
import { withHistoryProgress } from './history-window.ts';
import { asDeletion, changeMarks } from './marks.ts';
import { isTie, newestWins, type RowChange, withoutFuture } from './newest-wins.ts';
import { leaveMarks, type PageEffect, type PageInput } from './page-input.ts';
import { cursorFault, nextPaging } from './paging.ts';
import { readEnd } from './read-end.ts';
import { lookupStep, stepsAfter, unclearedIds, withoutFailures, withRound } from './round.ts';
import { isFeedRead, readAt, trustedUntilOf } from './trusted-until.ts';

/** What a page changes, and how many of its rows the feeds missed because the overlap is too small (R2). */
export interface PageOutcome {
  readonly commit: PageCommit & { readonly checkpoint: RoundCheckpoint };
  readonly late: number;
}

/** Decides what a page changes, and the next checkpoint. @throws SyncError `restart-round` for a wrong cursor (R8) */
export function pageOutcome(input: PageInput, context: Context): PageOutcome {
  const { checkpoint, decoded } = input;
  const { round } = checkpoint;
  const { read } = round;
  refuseBadCursor(input, read);
  if (read.as === 'unshown') return confirmed(input, context);
  const effect = effectOf(input, read, context);
  const { returnedKeys = decoded.rows.map((row) => row.key) } = effect;
  const dead = isFeedRead(read) ? [] : stillDeleted(input, returnedKeys);
  const unclearedOrDead = read.as === 'owned' ? [...new Set([...unclearedIds(round), ...dead])] : [];
  const isOfUnreturned = read.as === 'suspect' || read.as === 'rejected';
  const pendingIds = isOfUnreturned ? unreturnedIds(input) : unclearedOrDead;
  const next = withTies(nextCheckpoint(input, pendingIds, context), effect.ties);
  const leftMarks = leaveMarks(round, read.as === 'owned' ? [] : dead, true);
  const end = readEnd(input, pendingIds, context);
  const commit = {
    kind: 'page' as const,
    ...effect,
    returnedKeys,
    ...leftMarks,
    ...end,
    checkpoint: next,
    rejected: decoded.rejected,
  };
  return { commit, late: lateRows(input, effect.changes ?? [], context) };
}

/** Ties are looked up at the end of the round (R10). */
function withTies(checkpoint: RoundCheckpoint, ties: PageCommit['ties']): RoundCheckpoint {
  const { steps } = checkpoint.round;
  const isPlanned = ties === undefined || steps.some((step) => step.do === 'look-up' && step.about === 'ties');
  return isPlanned ? checkpoint : withRound(checkpoint, { steps: [...steps, lookupStep('ties')] });
}

/** A page of the parent's list. The rows that it returns are visible, so an empty response about them counts (R18). */
function confirmed(input: PageInput, context: Context): PageOutcome {
  const pendingIds = unreturnedIds(input);
  const next = nextCheckpoint(input, pendingIds, context);
  const end = readEnd(input, pendingIds, context);
  return { commit: { kind: 'page', returnedKeys: [], ...end, checkpoint: next }, late: 0 };
}

/** The pending ids of the current chunk that the page does not return either; a rejected row counts as returned. */
function unreturnedIds({ checkpoint: { round }, decoded: { rows, rejected } }: PageInput): readonly string[] {
  const returned = new Set([...rows, ...rejected].map(({ key }) => joinKey(key ?? [])));
  return unclearedIds(round).filter((id) => !returned.has(id));
}

/** The parents of returned rows that stay deleted because their tombstone is newer; they are looked up again (R13). */
function stillDeleted(input: PageInput, shownKeys: readonly (readonly string[])[]): readonly string[] {
  const { parent } = input.stream;
  const { rows } = input.decoded;
  if (parent === undefined || shownKeys.length === rows.length) return [];
  const shown = new Set(shownKeys.map(joinKey));
  const parentIds = rows
    .filter(({ key, deletedAt }) => deletedAt === null && !shown.has(joinKey(key)))
    .map(({ row }) => row[parent.by]);
  return [...new Set(parentIds.filter((id) => typeof id === 'string'))];
}

/** The keys of rows of the page that are deleted once it is written. */
function deadKeys({ stream, existing }: PageInput, changes: readonly RowChange[]): ReadonlySet<string> {
  const isDead = (row: Row): boolean => row['deleted_at'] !== null;
  const dead = new Set([...existing].filter(([, row]) => isDead(row)).map(([key]) => key));
  for (const { row } of changes) {
    const key = String(row[stream.key[0]]);
    if (isDead(row)) dead.add(key);
    else dead.delete(key);
  }
  return dead;
}

function effectOf(input: PageInput, read: Read, context: Context): PageEffect {
  const { stream, decoded } = input;
  if (stream.method === 'feed') return mergeRows(input, read, context);
  // History rows are never deleted by a sync; they go straight into the stream's own table (R17).
  if (stream.method === 'window') return { archived: decoded.rows };
  return stream.subtype === undefined ? stageRows(input, read) : fillTypedRows(input, read, context);
}

/** Rows of a feed stream: the newest wins (R10). */
function mergeRows(input: PageInput, read: Read, context: Context): PageEffect {
  const { stream, checkpoint, decoded, existing, markableStreams } = input;
  const floor = trustedUntilOf(read, context);
  const changes = new Map<string, RowChange>();
  const ties: (readonly string[])[] = [];
  for (const shown of decoded.rows) {
    const key = joinKey(shown.key);
    const before = changes.get(key);
    const trusted = withoutFuture(existing.get(key), context.newestReading);
    const row = before?.row ?? trusted;
    const change =
      newestWins(stream, row, shown, floor) ?? (before === undefined ? rewritten(existing.get(key), trusted) : null);
    // The scan may have returned the row after it was restored: only a lookup can tell.
    const isDoubtful = checkpoint.round.mode === 'scan' && change?.kind === 'deleted';
    if (isFeedRead(read) && (isTie(row, shown) || isDoubtful)) ties.push(shown.key);
    if (change !== null)
      changes.set(key, before === undefined ? change : { ...change, kind: combined(before.kind, change.kind) });
  }
  const list = [...changes.values()];
  const granted = visibleSince(checkpoint, read);
  const making = { marks: stream.marks.filter((rule) => markableStreams.has(rule.stream)) };
  const marks = [...changes].flatMap(([key, change]) =>
    changeMarks(making, asDeletion(change, existing.get(key)), granted),
  );
  // A tombstone older than the row changes nothing and does not count as seeing the row. Nor does a row that its
  // tombstone beats: if it was rejected, it stays so until a lookup revives it or no longer returns it (R20).
  const dead = deadKeys(input, list);
  const shown = decoded.rows.filter(({ key, deletedAt }) =>
    deletedAt === null ? dead.size === 0 || !dead.has(joinKey(key)) : changes.has(joinKey(key)),
  );
  return {
    changes: list,
    marks,
    ...(ties.length === 0 ? {} : { ties }),
    returnedKeys: shown.map((row) => row.key),
    // The tombstone may be older than the rejected version: a lookup by id decides (R20).
    ...(read.as === 'tombstones' ? { keepsRejected: true } : {}),
    ...seen(input, read, decoded),
  };
}

/** A row that was returned unchanged, but whose time in the mirror is no longer trusted (R10). */
function rewritten(existing: Row | undefined, trusted: Row | undefined): RowChange | null {
  if (trusted === undefined || trusted === existing) return null;
  return { row: trusted, kind: trusted['deleted_at'] === null ? 'updated' : 'tombstoned' };
}

/** Combines two changes of one row on one page. */
function combined(first: RowChange['kind'], second: RowChange['kind']): RowChange['kind'] {
  if (second === 'updated') return first;
  if (first === 'inserted') return 'tombstoned';
  if (first === 'deleted') return second === 'restored' ? 'updated' : 'deleted';
  return second;
}

/** Snapshot and lineage rows are staged next to the table; history rows are written at once (R16, R17). */
function stageRows(input: PageInput, read: Read): PageEffect {
  const { stream, decoded } = input;
  return {
    staged: { rows: decoded.rows, readNumber: read.number },
    ...(stream.historyTables === undefined ? {} : { archived: decoded.rows }),
    // A rejected row counts as seen, so the mirror keeps its version (R12).
    ...seen(input, read, { rows: [], rejected: decoded.rejected }, true),
  };
}

/** The keys to record for the sweep, including those of rejected rows (R12). */
function seen(
  { stream, checkpoint }: PageInput,
  read: Read,
  { rows, rejected }: Pick<DecodedPage, 'rows' | 'rejected'>,
  always = false,
): PageEffect {
  const isKept = isFeedRead(read)
    ? countsForScan(stream, checkpoint, read)
    : always || checkpoint.round.sweeps || read.as === 'owned' || read.as === 'ties';
  if (!isKept) return {};
  const keys = [
    ...rows.filter((row) => row.deletedAt === null).map((row) => row.key),
    ...rejected.flatMap((row) => (row.key ? [row.key] : [])),
  ];
  return keys.length === 0 ? {} : { seen: { keys, readNumber: read.number } };
}

/** Rows in the upserts feed count as seen by a waiting scan, unless it will read its lists from the start (R9). */
function countsForScan({ scanQueries }: Stream, { waitingScan }: Checkpoint, { as }: Read): boolean {
  if (as !== 'upserts' || waitingScan?.sweeps !== true) return false;
  const left = waitingScan.steps.filter((step) => step.do === 'list' && step.as === 'scan');
  return left.length < scanQueries.length || (waitingScan.read?.cursor ?? null) !== null;
}

/**
 * A row that a later scan finds for the first time, though it is older than the last round, has become visible through
 * a permission. So have its dependents, which no feed returns (R13). One second is added because T is rounded down to
 * whole seconds.
 */
function visibleSince({ watermark }: Checkpoint, read: Read): string | null {
  return isFeedRead(read) || watermark === null ? null : addSeconds(watermark, 1);
}

function nextCheckpoint(input: PageInput, pendingIds: readonly string[], context: Context): RoundCheckpoint {
  const { serverTime, newestReading, run } = context;
  const { stream, checkpoint, page, decoded } = input;
  const { round } = checkpoint;
  const [step, ...rest] = round.steps;
  const steps = step?.do === 'look-up' ? [{ ...step, pendingIds }, ...rest] : round.steps;
  const shown = {
    // A scan that waited before its first page counts from the feeds in the meantime (R9).
    firstPageAt: readAt({ at: round.pages === 0 ? (round.firstPageAt ?? serverTime) : round.firstPageAt }, serverTime),
    sweepContradicted: round.sweepContradicted || isContradicted(input, round.read, pendingIds),
    consecutiveNotFound: 0,
  };
  // After an interruption a heavy page is read again until all of it is written (R5, R27).
  if (decoded.isPart) return withRound(checkpoint, { ...shown, steps });
  const scanPages = round.scanPages + (round.read.as === 'scan' ? 1 : 0);
  const pages = round.pages + 1;
  if (page.hasMore) {
    const paging = nextPaging(round.read, page.nextCursor, run);
    const read = withoutFailures(withHistoryProgress(round.read, decoded, newestReading));
    const next = { ...read, cursor: page.nextCursor, paging };
    return withRound(checkpoint, { ...shown, steps, pages, scanPages, read: next });
  }
  return withRound(checkpoint, { ...shown, steps: stepsAfter(stream, steps), pages, scanPages, read: null });
}

/** Whether a lookup returns a row that the reads did not (R12), or lacks one that the token may not see (R18). */
function isContradicted({ stream, page, decoded }: PageInput, { as }: Read, pendingIds: readonly string[]): boolean {
  const isWhole = !page.hasMore && !decoded.isPart;
  return (
    (as === 'candidates' && hasReturned(decoded)) ||
    (as === 'unshown' && stream.method === 'marked' && isWhole && pendingIds.length > 0)
  );
}

/** Whether a row that seemed deleted was returned, even if it is rejected (R12). */
function hasReturned({ rows, rejected }: DecodedPage): boolean {
  return rejected.some((row) => row.key !== null) || rows.some((row) => row.deletedAt === null);
}

/** How many changed live rows a scan found that the feeds should have returned: the overlap is too small (R2). */
function lateRows(input: PageInput, changes: readonly RowChange[], { options }: Context): number {
  const { stream, checkpoint } = input;
  const { scannedAt, watermark, round } = checkpoint;
  if (stream.method !== 'feed' || round.read.as !== 'scan' || scannedAt === null || watermark === null) return 0;
  const until = addSeconds(watermark, -options.overlapSeconds);
  return changes.filter(
    ({ row, kind }) => kind === 'updated' && String(row['synced_at']) > scannedAt && String(row['synced_at']) < until,
  ).length;
}

/** Only `has_more` ends a read, so each cursor must be new (R8). */
function refuseBadCursor({ stream, page, visitedCursors }: PageInput, { cursor, paging }: Read): void {
  const fault = cursorFault(page, (next) => [cursor, paging?.landmark].includes(next) || visitedCursors.has(next));
  if (fault === null) return;
  throw new SyncError(
    'restart-round',
    `${stream.path.join('/')} ${fault}; the next run reads the stream again; if it happens again, report it to the service`,
  );
}
