import type { CollectionName } from '../../src/streams/catalogue.ts';
import { STREAM_TABLES } from '../support/catalogue.ts';
import { pageOf, roundEndOf } from '../support/commit-parts.ts';
import { askedBy, type Book, isFeed, isWhole, openBook } from './book.ts';
import { cyclesAreYoung } from './invariants/cycles.ts';
import { dayMeans } from './invariants/day-means.ts';
import { keptForEver } from './invariants/kept-for-ever.ts';
import { marksStay } from './invariants/marks-stay.ts';
import { type Held, heldOf, type Invariant, type Moment, roundsOf } from './invariants/moment.ts';
import { newestStays } from './invariants/newest-stays.ts';
import { ownTimes } from './invariants/own-times.ts';
import { removalsTold } from './invariants/removals-told.ts';
import { requestBounds } from './invariants/request-bounds.ts';
import { rowsBehindCheckpoint } from './invariants/rows-behind-checkpoint.ts';
import { snapshotsWhole } from './invariants/snapshots-whole.ts';
import { watermarkClaims } from './invariants/watermark-claims.ts';
import { watermarkForward } from './invariants/watermark-forward.ts';
import type { Fetch, Mirrored, Told } from './mirrored.ts';
import type { World } from './world.ts';

const TABLES = [...STREAM_TABLES, 'environments', 'rejected_rows'];

/** All that a reader could see of the mirror, its own times included. */
export function contents(mirrored: Mirrored): string {
  return TABLES.map((table) => `${table} ${JSON.stringify(mirrored.rows(`select * from ${table}`))}`).join('\n');
}

/** Watches every fetch and commit of a mirror; `check` after a run says what was broken. */
export function guard(mirrored: Mirrored, world: World): { check(): string[] } {
  const broken: string[] = [];
  const note = (name: string, found: readonly string[], where = ''): void => {
    for (const what of found) broken.push(`${name}: ${where}${what}`);
  };
  const book = openBook();
  const [times, kept] = [ownTimes(mirrored), keptForEver(mirrored)];
  const invariants: Readonly<Record<string, Invariant>> = {
    rowsBehindCheckpoint,
    watermarkForward,
    watermarkClaims: watermarkClaims(),
    removalsTold,
    newestStays,
    marksStay,
    snapshotsWhole,
    keptForEver: kept.shown,
  };
  let before: Held | null = null;
  let last: Moment | null = null;
  // Of a heavy page only the commit of its last slice is looked at, as the whole page.
  let isAmidPage = false;

  mirrored.onOpen = () => {
    last = null;
    isAmidPage = false;
    book.open();
  };
  mirrored.beforeFetch = (request, now, latest) => {
    note('requestBounds', requestBounds(request, now, latest));
    const lastMark = Number(mirrored.rows(LAST_MARK, request.path[0])[0]?.['last_mark'] ?? 0);
    book.asked(request, { at: beganAt(mirrored, request) ?? now, askedAt: now, lastMark }, latest);
  };
  mirrored.afterFetch = (request, page) => book.served(request, page);
  mirrored.beforeCommit = ({ envId, stream }) => {
    if (isAmidPage) return;
    before = last?.envId === envId && last.stream === stream ? last.after : heldOf(mirrored, envId, stream);
  };
  mirrored.afterCommit = (told) => {
    isAmidPage = told.isPart;
    if (isAmidPage) return;
    const moment = momentOf(told, { book, mirrored, before: before as Held });
    for (const [name, invariant] of Object.entries(invariants))
      note(name, invariant(moment), `${told.envId} ${told.stream}: `);
    turnLeaf(book, moment);
    last = moment;
  };
  return {
    check() {
      note('cyclesAreYoung', cyclesAreYoung(mirrored));
      note('dayMeans', dayMeans(mirrored));
      note('ownTimes', times());
      note('keptForEver', kept.all());
      return [...broken, ...world.violations];
    },
  };
}

const LAST_MARK = 'select last_mark from mirror_environments where env_id = ?';

/** When the stored read began that asks for its first page again: what it shows is true as of then (R10). */
function beganAt(mirrored: Mirrored, { path: [envId = '', ...path], query, stream }: Fetch): string | null {
  const { round, waiting } = roundsOf(mirrored, envId, stream);
  const read = (round ?? waiting)?.read ?? null;
  return read !== null && askedBy({ path, query }) === askedBy(read) ? read.at : null;
}

/** A page is brought in by a commit that says what it showed. */
function momentOf(told: Told, { book, mirrored, before }: { book: Book; mirrored: Mirrored; before: Held }): Moment {
  const { envId, stream, commit } = told;
  const { historyRead, unreadHistory } = pageOf(commit);
  const history = (historyRead ?? unreadHistory ?? commit.checkpoint.round?.read?.history)?.testId;
  const walk = pageOf(commit).returnedKeys === undefined ? null : book.pending(envId, stream, history);
  const page = walk?.pages.at(-1) ?? null;
  if (page !== null) page.committed = true;
  const all = book.walks(envId, stream);
  const after = heldOf(mirrored, envId, stream);
  // Before the first page of a round there was another round, or none; what was read of a scan that is set aside stays (R9).
  const isWaiting = before.waiting !== null || after.waiting !== null;
  const isFirst = walk !== null && before.round === null && !isWaiting && stream !== 'test_executions';
  const walks = isFirst ? [walk] : all;
  return { ...told, before, after, walk, page, walks, rows: mirrored.rows, seen: mirrored.seen };
}

/** With the round its walks end; what was asked for and never came into it never was. */
function turnLeaf(book: Book, { envId, stream, commit, walks, after }: Moment): void {
  // A scan that is set aside goes on after the round of the feeds (R9).
  const isOver =
    (roundEndOf(commit) !== undefined && after.waiting === null) ||
    (commit.kind === 'discard' && commit.forget === 'all');
  // Feeds that were left out are not gone on with.
  const still = roundEndOf(commit) === undefined ? walks : walks.filter((walk) => isWhole(walk) || !isFeed(walk));
  book.keep(envId, stream as CollectionName, isOver ? [] : still);
}
