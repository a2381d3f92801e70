import type { CollectionName } from '../../src/streams/catalogue.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { STREAM_TABLES } from '../support/catalogue.ts';
import { pageOf, roundEndOf } from '../support/commit-parts.ts';
import type { SyncCommand } from './commands.ts';
import { type EnvironmentModel, FAR_FUTURE, type Item } from './environment.ts';
import { checkpointHasRows, hasUntrustedTime } from './invariants/checkpoint-has-rows.ts';
import {
  type CommitTransition,
  type Invariant,
  keyOf,
  loadStreamState,
  roundsOf,
  type StreamState,
} from './invariants/commit-transition.ts';
import { cyclesAreShort, unreadHistoriesAreTold } from './invariants/cycles.ts';
import { dailyMeansMatch } from './invariants/daily-means-match.ts';
import { historyIsComplete } from './invariants/history-is-complete.ts';
import { marksAreKept } from './invariants/marks-are-kept.ts';
import { mirrorTimesAdvance } from './invariants/mirror-times-advance.ts';
import { newestWins } from './invariants/newest-wins.ts';
import { removalsAreExplained } from './invariants/removals-are-explained.ts';
import { requestBounds } from './invariants/request-bounds.ts';
import { scansAreTimely } from './invariants/scans-are-timely.ts';
import { snapshotsAreAtomic } from './invariants/snapshots-are-atomic.ts';
import { watermarkAdvances } from './invariants/watermark-advances.ts';
import { watermarkIsBounded } from './invariants/watermark-is-bounded.ts';
import {
  createRequestLog,
  isComplete,
  isFeed,
  isScan,
  type RequestLog,
  readIdentity,
  type ServedRead,
} from './request-log.ts';
import type { ObservedCommit, StreamRequest, TestMirror } from './test-mirror.ts';
import type { World } from './world.ts';

const TABLES = [...STREAM_TABLES, 'environments', 'rejected_rows'];

/** Everything that a reader can see of the mirror, including its own times. */
export function dumpTables(mirrored: TestMirror): string {
  return TABLES.map((table) => `${table} ${JSON.stringify(mirrored.rows(`select * from ${table}`))}`).join('\n');
}

export interface InvariantWatch extends Pick<ReturnType<typeof scansAreTimely>, 'autoSeconds'> {
  /** All violations so far, including those of what holds after a run. */
  violations(): string[];
  /** Call when a run has ended. */
  endRun(summary: RunSummary, command: Pick<SyncCommand, 'full' | 'fullEveryDays'>): void;
}

/** Checks the invariants at every request and commit. */
export function watchInvariants(mirrored: TestMirror, world: World): InvariantWatch {
  const broken: string[] = [];
  const note = (name: string, found: readonly string[], where = ''): void => {
    for (const what of found) broken.push(`${name}: ${where}${what}`);
  };
  const log = createRequestLog();
  const [times, history] = [
    mirrorTimesAdvance(mirrored),
    historyIsComplete(mirrored, () => world.nowMs + mirrored.clockSkewMs),
  ];
  const scans = scansAreTimely();
  const invariants: Readonly<Record<string, Invariant>> = {
    checkpointHasRows,
    watermarkAdvances,
    watermarkIsBounded: watermarkIsBounded(),
    removalsAreExplained,
    newestWins,
    marksAreKept,
    snapshotsAreAtomic,
    historyIsComplete: history.record,
    scansAreTimely: scans.record,
  };
  let before: StreamState | null = null;
  let last: CommitTransition | null = null;
  // A heavy page is checked as a whole, at the commit of its last slice.
  let isInPage = false;
  let wasUndated = false;

  mirrored.onOpen = () => {
    last = null;
    isInPage = false;
    wasUndated = false;
    log.startRun();
  };
  mirrored.beforeFetch = (request, when) => {
    const { now } = when;
    wasUndated ||= now === null;
    note('requestBounds', requestBounds(request, { ...when, wasUndated }));
    const lastMark = Number(mirrored.rows(LAST_MARK, request.path[0])[0]?.['last_mark'] ?? 0);
    log.recordRequest(request, { at: readStartedAt(mirrored, request) ?? now, firstRequestAt: now, lastMark }, when);
  };
  mirrored.afterFetch = (...served) => log.recordPage(...served);
  mirrored.beforeCommit = ({ envId, stream }) => {
    if (isInPage) return;
    before = last?.envId === envId && last.stream === stream ? last.after : loadStreamState(mirrored, envId, stream);
  };
  mirrored.afterCommit = (observed) => {
    isInPage = observed.isPart;
    if (isInPage) return recordSlice(log, observed);
    const transition = transitionOf(observed, { log, mirrored, before: before as StreamState });
    for (const [name, invariant] of Object.entries(invariants))
      note(name, invariant(transition), `${observed.envId} ${observed.stream}: `);
    // A true time that a wrong clock makes untrusted is lost until the next scan (R10, R13).
    if (((transition.page?.items ?? []) as Item[]).some((item) => isTrueTimeLost(transition, item)))
      world.environment(observed.envId).needsScan = true;
    if (observed.stream === 'columns') noteUnrevived(world.environment(observed.envId), transition);
    dropFinishedReads(log, transition);
    last = transition;
  };
  return {
    autoSeconds: scans.autoSeconds,
    endRun(summary, { full, fullEveryDays }) {
      note('scansAreTimely', scans.overdue(summary, fullEveryDays));
      if (full) note('fullScansEverything', scans.missing(summary));
      note('unreadHistoriesAreTold', unreadHistoriesAreTold(mirrored, world, summary));
    },
    violations() {
      note('cyclesAreShort', cyclesAreShort(mirrored));
      note('dailyMeansMatch', dailyMeansMatch(mirrored));
      note('mirrorTimesAdvance', times());
      note('historyIsComplete', history.missing());
      return [...broken, ...world.violations];
    },
  };
}

const LAST_MARK = 'select last_mark from mirror_environments where env_id = ?';

/** When the stored read began, if it requests its first page again: its rows count as of then (R10). */
function readStartedAt(
  mirrored: TestMirror,
  { path: [envId = '', ...path], query, stream }: StreamRequest,
): string | null {
  const { round, waiting } = roundsOf(mirrored, envId, stream);
  const read = (round ?? waiting)?.read ?? null;
  return read !== null && readIdentity({ path, query }) === readIdentity(read) ? read.at : null;
}

function isTrueTimeLost(transition: CommitTransition, item: Item): boolean {
  return item['synced_at'] !== FAR_FUTURE && hasUntrustedTime(transition, item);
}

/** Notes which of the returned columns stay deleted, and which deletions the mirror has seen. */
function noteUnrevived({ unrevived, droppedUnseen }: EnvironmentModel, { page, after }: CommitTransition): void {
  for (const id of droppedUnseen) if (typeof after.rows.get(id)?.['deleted_at'] === 'string') droppedUnseen.delete(id);
  const items = ((page?.items ?? []) as Item[]).filter((item) => item['deleted_at'] === undefined);
  for (const item of items) {
    const id = String(item['id']);
    if (typeof after.rows.get(id)?.['deleted_at'] === 'string') unrevived.add(id);
    else unrevived.delete(id);
  }
}

/** The read that a commit belongs to: it says which keys were returned. */
function uncommittedRead(log: RequestLog, { envId, stream, commit }: ObservedCommit): ServedRead | null {
  const { historyRead, unreadHistory } = pageOf(commit);
  const testId = (historyRead ?? unreadHistory ?? commit.checkpoint.round?.read?.history)?.testId;
  return pageOf(commit).returnedKeys === undefined ? null : log.uncommitted(envId, stream, testId);
}

function recordSlice(log: RequestLog, observed: ObservedCommit): void {
  const read = uncommittedRead(log, observed);
  const keys = new Set(pageOf(observed.commit).returnedKeys?.map((key) => key.join(' < ')));
  if (read !== null) log.recordSlice(read, (item) => keys.has(keyOf(observed.stream, item)));
}

function transitionOf(
  observed: ObservedCommit,
  { log, mirrored, before }: { log: RequestLog; mirrored: TestMirror; before: StreamState },
): CommitTransition {
  const { envId, stream } = observed;
  const read = uncommittedRead(log, observed);
  const page = read?.pages.at(-1) ?? null;
  if (page !== null) page.committed = true;
  // The response to a read's first request may be the run's first one with a `Date` (R1).
  if (read?.pages.length === 1) {
    read.at ??= observed.serverTime;
    read.firstRequestAt ??= observed.serverTime;
  }
  const all = log.readsOf(envId, stream);
  const after = loadStreamState(mirrored, envId, stream);
  // The first page of a round discards the reads of the previous one, but not those of a waiting scan (R9).
  const isWaiting = before.waiting !== null || after.waiting !== null;
  const isFirst = read !== null && before.round === null && !isWaiting && stream !== 'test_executions';
  const reads = isFirst ? [read] : all;
  return { ...observed, before, after, read, page, reads, rows: mirrored.rows, seen: mirrored.seen };
}

/** A round's reads end with it. */
function dropFinishedReads(log: RequestLog, { envId, stream, commit, reads, after }: CommitTransition): void {
  const hasEnded = roundEndOf(commit) !== undefined;
  const isDiscarded = commit.kind === 'discard' && commit.forget === 'all';
  if (hasEnded || isDiscarded) log.forgetBounds(envId, stream as CollectionName);
  // A waiting scan resumes after the round of the feeds (R9).
  const isOver = (hasEnded && after.waiting === null) || isDiscarded;
  // A read that starts over forgets what it has seen (R7).
  const restarted = commit.kind === 'discard' ? commit.checkpoint.round?.read : null;
  const forgotten = restarted ? readIdentity({ ...restarted, path: [envId, ...restarted.path] }) : null;
  for (const read of reads) if (readIdentity(read) === forgotten) read.sliceItems = [];
  // Feeds that were left out are not resumed. A waiting scan that reads its lists from the start ignores them all (R9).
  const countFeeds = after.waiting?.read?.cursor != null || reads.some((read) => isScan(read) && isComplete(read));
  const remaining = hasEnded ? reads.filter((read) => !isFeed(read) || (countFeeds && isComplete(read))) : reads;
  // A history that was prefetched may be taken by the next round.
  const isAhead = ({ pages }: ServedRead): boolean => stream === 'test_executions' && !pages.some((p) => p.committed);
  log.replaceReads(envId, stream as CollectionName, isOver ? reads.filter(isAhead) : remaining);
}
