import type { DecodedRow } from '../../core/decode.ts';
import type { Commit, RowCounts } from '../../core/destination.ts';
import type { Stream } from '../../core/stream.ts';
import { finishRound, release } from './finish-round.ts';
import type { CommitScope } from './mirror-scope.ts';
import { isMuch } from './noted.ts';
import { findAnew, noteSeen, remember } from './seen.ts';
import { hasTable, stage } from './stage.ts';
import { type ChangedRows, reopenStream, writeChanges, writeMarks } from './write-changes.ts';
import {
  archive,
  clearMarks,
  clearReturned,
  dropRejected,
  forget,
  leaveMarks,
  noteHistoryRead,
  noteUnreadHistory,
  reject,
  sweepParents,
} from './write-page.ts';

/**
 * Writes the parts of a commit but its checkpoint. The order matters in that
 * - a row given twice, once unusable, is rejected in the end: `shown` before `rejected`
 * - rows are disowned, and rounds settled, by what is changed, seen and gathered, this page's share included
 * - what a round saw and gathered is forgotten only once that has settled it
 */
export function apply(commitScope: CommitScope, stream: Stream, commit: Commit): AppliedCommit {
  const gathered = commit.staged && stage(commitScope, stream, commit.staged, isCompared(commitScope, stream, commit));
  const changed = [...applyPage(commitScope, stream, commit, gathered), ...applyEnd(commitScope, stream, commit)];
  const written = changed.reduce((sum, counts) => sum + counts.written, 0);
  const deleted = changed.reduce((sum, counts) => sum + counts.deleted, 0);
  const rejected = commit.rejected?.length ?? 0;
  if (stream.reopens !== undefined && written > 0) reopenStream(commitScope, [stream.reopens]);
  const isQuiet = written + deleted + rejected + (gathered?.length ?? 0) === 0 && !isMuch(commitScope.noted);
  return { counts: { written, deleted, rejected }, isQuiet };
}

interface AppliedCommit {
  readonly counts: RowCounts;
  /** It brought nothing but that something was looked at: nobody waits for it. */
  readonly isQuiet: boolean;
}

/** What a page shows. */
function applyPage(
  commitScope: CommitScope,
  stream: Stream,
  commit: Commit,
  gathered: readonly DecodedRow[] | undefined,
): ChangedRows[] {
  const changed = [writeChanges(commitScope, stream, commit.changes ?? [])];
  if (commit.changes?.length) findAnew(commitScope, stream);
  writeMarks(commitScope, commit.marks ?? []);
  // A row that the table has as shown was archived with the page that brought it there (R17).
  if (commit.archived) changed.push(archive(commitScope, stream, gathered ?? commit.archived));
  if (commit.seen) noteSeen(commitScope, stream, commit.seen);
  if (commit.returnedKeys?.length) clearReturned(commitScope, stream, commit.returnedKeys);
  if (commit.rejected?.length) reject(commitScope, stream, commit.rejected);
  return changed;
}

/** What the end of a read or of a round does. */
function applyEnd(commitScope: CommitScope, stream: Stream, commit: Commit): ChangedRows[] {
  const changed: ChangedRows[] = [];
  if (commit.sweptParents) changed.push(sweepParents(commitScope, stream, commit.sweptParents));
  if (commit.notShown) dropRejected(commitScope, stream, commit.notShown);
  if (commit.clearedMarks) clearMarks(commitScope, stream, commit.clearedMarks);
  if (commit.leftMarks) leaveMarks(commitScope, stream, commit.leftMarks);
  if (commit.historyRead) noteHistoryRead(commitScope, commit.historyRead);
  if (commit.unreadHistory) noteUnreadHistory(commitScope, commit.unreadHistory);
  if (commit.roundEnd) changed.push(finishRound(commitScope, stream, commit.roundEnd));
  // What a scan has seen that waits does so with it (R9).
  const ended = commit.checkpoint.waitingScan ? undefined : 'all';
  const forgotten = commit.roundEnd ? ended : commit.forget;
  if (commit.roundEnd && commit.roundEnd.rememberFrom !== null)
    remember(commitScope, stream, commit.roundEnd.rememberFrom);
  else if (forgotten !== undefined) forget(commitScope, stream, forgotten);
  if (commit.release) changed.push(release(commitScope, stream));
  return changed;
}

/** The first scan of an empty table finds nothing to compare with; with a table that has rows, or marks to pay, what is shown counts. */
function isCompared(commitScope: CommitScope, stream: Stream, { checkpoint: { round } }: Commit): boolean {
  return round === null || round.mode === 'marked' || round.sweeps || hasTable(commitScope, stream);
}
