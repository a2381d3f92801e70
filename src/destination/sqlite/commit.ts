import type { Decoded } from '../../core/decode.ts';
import type { Commit, Counts } from '../../core/destination.ts';
import type { Stream } from '../../core/stream.ts';
import { gather, hasTable } from './gather.ts';
import { isMuch } from './noted.ts';
import type { Writing } from './part.ts';
import { findAnew, remember, see } from './seen.ts';
import { release, settle } from './settle.ts';
import { type Changed, unfinish, writeChanges, writeMarks } from './write-changes.ts';
import {
  archive,
  clearShown,
  disown,
  dropRejected,
  forget,
  leave,
  noteReading,
  noteUnread,
  pay,
  reject,
} from './write-page.ts';

/**
 * Writes the parts of a commit but its checkpoint. The order matters in that
 * - a row given twice, once unusable, is rejected in the end: `shown` before `rejected`
 * - rows are disowned, and rounds settled, by what is changed, seen and gathered, this page's share included
 * - what a round saw and gathered is forgotten only once that has settled it
 */
export function apply(writing: Writing, stream: Stream, commit: Commit): Applied {
  const gathered = commit.staged && gather(writing, stream, commit.staged, isCompared(writing, stream, commit));
  const changed = [...applyPage(writing, stream, commit, gathered), ...applyEnd(writing, stream, commit)];
  const written = changed.reduce((sum, counts) => sum + counts.written, 0);
  const deleted = changed.reduce((sum, counts) => sum + counts.deleted, 0);
  const rejected = commit.rejected?.length ?? 0;
  if (stream.newsFor !== undefined && written > 0) unfinish(writing, [stream.newsFor]);
  const isQuiet = written + deleted + rejected + (gathered?.length ?? 0) === 0 && !isMuch(writing.noted);
  return { counts: { written, deleted, rejected }, isQuiet };
}

interface Applied {
  readonly counts: Counts;
  /** It brought nothing but that something was looked at: nobody waits for it. */
  readonly isQuiet: boolean;
}

/** What a page shows. */
function applyPage(
  writing: Writing,
  stream: Stream,
  commit: Commit,
  gathered: readonly Decoded[] | undefined,
): Changed[] {
  const changed = [writeChanges(writing, stream, commit.changes ?? [])];
  if (commit.changes?.length) findAnew(writing, stream);
  writeMarks(writing, commit.marks ?? []);
  // A row that the table has as shown was archived with the page that brought it there (R17).
  if (commit.archived) changed.push(archive(writing, stream, gathered ?? commit.archived));
  if (commit.seen) see(writing, stream, commit.seen);
  if (commit.shown?.length) clearShown(writing, stream, commit.shown);
  if (commit.rejected?.length) reject(writing, stream, commit.rejected);
  return changed;
}

/** What the end of a read or of a round does. */
function applyEnd(writing: Writing, stream: Stream, commit: Commit): Changed[] {
  const changed: Changed[] = [];
  if (commit.disowned) changed.push(disown(writing, stream, commit.disowned));
  if (commit.notShown) dropRejected(writing, stream, commit.notShown);
  if (commit.paid) pay(writing, stream, commit.paid);
  if (commit.left) leave(writing, stream, commit.left);
  if (commit.reading) noteReading(writing, commit.reading);
  if (commit.unreadHistory) noteUnread(writing, commit.unreadHistory);
  if (commit.settle) changed.push(settle(writing, stream, commit.settle));
  // What a scan has seen that waits does so with it (R9).
  const ended = commit.checkpoint.waitingScan ? undefined : 'all';
  const forgotten = commit.settle ? ended : commit.forget;
  if (commit.settle && commit.settle.rememberFrom !== null) remember(writing, stream, commit.settle.rememberFrom);
  else if (forgotten !== undefined) forget(writing, stream, forgotten);
  if (commit.release) changed.push(release(writing, stream));
  return changed;
}

/** The first scan of an empty table finds nothing to compare with; with a table that has rows, or marks to pay, what is shown counts. */
function isCompared(writing: Writing, stream: Stream, { checkpoint: { round } }: Commit): boolean {
  return round === null || round.mode === 'marked' || round.sweeps || hasTable(writing, stream);
}
