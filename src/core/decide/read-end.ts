import type { LookupRead, Read, ReadCheckpoint } from '../checkpoint.ts';
import type { Context } from '../context.ts';
import type { PageCommit } from '../ports/destination.ts';
import type { Stream } from '../stream.ts';
import { leaveMarks, type PageEffect, type PageInput } from './page-input.ts';
import { isLastVariant } from './round.ts';
import { readAt } from './trusted-until.ts';

/**
 * What the end of a read changes beyond its last page (R13, R18). `pendingIds` are the ids of its chunk whose marks
 * stay, or those of suspect or rejected rows that no page returned.
 */
export function readEnd(input: PageInput, pendingIds: readonly string[], context: Context): PageEffect {
  const { stream, checkpoint, page, decoded } = input;
  const { read, lastMark, run, steps } = checkpoint.round;
  const [step] = steps;
  if (page.hasMore || decoded.isPart) return {};
  if (read.history !== null) return historyEnd(read.history, read, context);
  if (step?.do !== 'look-up' || !isLastVariant(stream, step)) return {};
  if (step.about === 'rejected') return { notShown: { ids: pendingIds, since: run } };
  if (step.about === 'candidates' || step.about === 'marked') return {};
  const leftMarks = leaveMarks(checkpoint.round, pendingIds, stream.staged !== undefined);
  const sweptRows = sweptBy(stream, step, checkpoint, context);
  const sweptByKey = { ...sweptRows, by: stream.key[0], isConfirmed: true };
  if (step.about === 'ties') return { sweptRows: sweptByKey };
  if (step.about === 'suspect') return pendingIds.length === 0 ? {} : { sweptRows: { ...sweptByKey, ids: pendingIds } };
  if (stream.parent === undefined) return leftMarks;
  const cleared = step.ids.filter((id) => !pendingIds.includes(id));
  const swept = step.about === 'unshown' ? { ids: cleared, isConfirmed: true } : {};
  return { clearedMarks: { ids: cleared, lastMark }, ...leftMarks, sweptRows: { ...sweptRows, ...swept } };
}

/** Without a server time, it is unknown how far back a history was read, so it is read again (R1). */
function historyEnd(history: NonNullable<Read['history']>, read: Read, { serverTime }: Context): PageEffect {
  const at = readAt(read, serverTime);
  return at === null
    ? { unreadHistory: { testId: history.testId, pageLimit: null } }
    : { historyRead: { gaps: [], ...history, readAt: at, since: history.run ?? read.restartRun } };
}

/** The rows of the current chunk that its reads did not return; after a confirmation, all reads of the round (R13). */
function sweptBy(
  { key, parent }: Stream,
  { about, ids, firstRead = 0 }: LookupRead,
  { round: { read }, waitingScan }: ReadCheckpoint,
  { serverTime }: Context,
): NonNullable<PageCommit['sweptRows']> {
  const sinceRead = about === 'unshown' ? (waitingScan?.reads ?? 0) + 1 : firstRead;
  return { by: parent?.by ?? key[0], ids, sinceRead, at: readAt(read, serverTime), isConfirmed: false };
}
