import type { RemovalCount, RoundEnd } from '../../core/destination.ts';
import type { Stream } from '../../core/stream.ts';
import {
  exempt,
  isHeldBack,
  isOf,
  isOwed,
  isSeen,
  isUnfilled,
  live,
  markedRows,
  mayGo,
  type SqlCondition,
  tableOf,
} from './conditions.ts';
import { findMissing, isMissing, loadSeenKeys } from './seen-keys.ts';
import { drop, replace, toDelete } from './staged.ts';
import { type CommitScope, type MirrorScope, type SqlStatements, send, value } from './statements.ts';
import { type ChangedRows, holdBack, holdOnly, leaveMarksOf, remove, reopenStream } from './write-rows.ts';

type SweepInput = NonNullable<RoundEnd['sweep']>;

/** Rows that the end of a round would remove. Rows already held back do not count again, until they are shown or applied (R14). */
export function* weighRemovals(
  mirrorScope: MirrorScope,
  stream: Stream,
  roundEnd: RoundEnd,
): SqlStatements<RemovalCount> {
  yield* loadFor(mirrorScope, stream, roundEnd);
  const gone = removalsOf(stream, roundEnd);
  if (gone === null) return { live: 0, toRemove: 0 };
  const rows = `from ${tableOf(stream)} t where t.env_id = @env and ${live(stream)}`;
  const counts = `not ${exempt(stream)} and not ${isHeldBack(stream)}`;
  const toRemove = Number(
    yield* value(mirrorScope, `select count(*) ${rows} and ${gone.sql} and ${counts}`, gone.values),
  );
  if (toRemove === 0) return { live: 0, toRemove };
  const enough = `select count(*) from (select 1 ${rows} and ${counts} limit @most) enough`;
  return { live: Number(yield* value(mirrorScope, enough, { most: 2 * toRemove })), toRemove };
}

function* loadFor(
  mirrorScope: MirrorScope,
  stream: Stream,
  { sweep: swept, replace: scope }: RoundEnd,
): SqlStatements<void> {
  if (swept !== null || scope === 'all') yield* findMissing(mirrorScope, stream);
  else yield* loadSeenKeys(mirrorScope, stream);
}

/** The condition that the end of a round removes row `t`; null if it removes none. */
function removalsOf(
  stream: Stream,
  { sweep: swept, replace: scope, through, lastMark, run }: RoundEnd,
): SqlCondition | null {
  if (swept !== null) return { sql: sweptRows(stream), values: { through } };
  return scope === null ? null : { sql: toDelete(stream, scope), values: { lastMark, run, through } };
}

/** Ends a round: sweeps or replaces rows, then clears the marks and rejected rows that the round has dealt with. */
export function* finishRound(
  commitScope: CommitScope,
  stream: Stream,
  ended: RoundEnd & { hold: boolean },
): SqlStatements<ChangedRows> {
  yield* loadFor(commitScope, stream, ended);
  const { sweep: swept, replace: scope, through, hold, isWhole } = ended;
  const of = { lastMark: ended.lastMark, run: ended.run };
  let changedRows: ChangedRows = { written: 0, deleted: 0 };
  if (through !== null && stream.parentTable !== undefined)
    yield* leaveUnasked(commitScope, stream, { ...of, through });
  if (swept !== null) changedRows = yield* sweep(commitScope, stream, { ...swept, through, hold });
  else if (scope !== null)
    changedRows = yield* replace(commitScope, stream, { scope, hold, values: { ...of, through } });
  if (stream.subtype !== undefined) yield* leaveUnfilled(commitScope, stream, { ...of, isWhole });
  const owed = `marks as m where ${isOf(stream, 'm')} and ${isOwed('m')}`;
  yield* send(commitScope, `delete from ${owed} and m.number <= @lastMark`, of);
  const isOwing = (yield* value(commitScope, `select 1 from ${owed} limit 1`, of)) !== undefined;
  if (isOwing) yield* reopenStream(commitScope, [stream.name]);
  if (isWhole) yield* forgetRejected(commitScope, stream, of.run);
  return changedRows;
}

/**
 * Keeps a mark for each live row that lacks the fields of its kind: the typed list may lag behind (R22). A scan has no marks, so it
 * makes them.
 */
function* leaveUnfilled(
  commitScope: CommitScope,
  stream: Stream,
  { isWhole, ...of }: { isWhole: boolean; lastMark: number; run: number },
): SqlStatements<void> {
  const unfilled = isWhole
    ? `select t.id from ${tableOf(stream)} t where t.env_id = @env and ${live(stream)} and ${isUnfilled(stream)}`
    : `select m.id ${markedRows(stream)} and ${isUnfilled(stream)}`;
  yield* leaveMarksOf(commitScope, stream, { sql: unfilled, values: of });
}

/** Leaves to a later run the marks of rows after `through`: the parent list was not asked for them, and no read has shown them (R18). */
function* leaveUnasked(
  commitScope: CommitScope,
  stream: Stream,
  values: { lastMark: number; run: number; through: string },
): SqlStatements<void> {
  const shown = stream.staged === undefined ? 'false' : isSeen(stream, 'm.id');
  const sql = `select m.id from marks m where ${isOf(stream, 'm')} and ${isOwed('m')} and m.number <= @lastMark
    and m.id > @through and not ${shown}`;
  yield* leaveMarksOf(commitScope, stream, { sql, values });
}

/** A read of the whole stream did not show these rejected rows again, so they are gone from the source (R20). */
function* forgetRejected(commitScope: CommitScope, stream: Stream, since: number): SqlStatements<void> {
  yield* send(commitScope, `delete from rejected_rows as r where ${isOf(stream, 'r')} and r.run_id < @since`, {
    since,
  });
}

function* sweep(
  commitScope: CommitScope,
  stream: Stream,
  swept: SweepInput & { hold: boolean; through: string | null },
): SqlStatements<ChangedRows> {
  const sql = sweptRows(stream);
  const values = { through: swept.through };
  const at = swept.at ?? commitScope.mirroredAt;
  if (swept.hold) yield* holdBack(commitScope, stream, { sql, values, at });
  const removed = yield* remove(commitScope, stream, { sql: `${sql} and ${mayGo(stream)}`, values, at });
  yield* holdOnly(commitScope, stream, { sql: isMissing(stream) });
  return removed;
}

/** The condition that a scan did not see row `t`, up to the last row that may go (R12). */
function sweptRows(stream: Stream): string {
  return `${isMissing(stream)} and (cast(@through as text) is null or t.id <= @through)`;
}

/** Applies the removals that were held back, without a new read (R14). */
export function* release(commitScope: CommitScope, stream: Stream): SqlStatements<ChangedRows> {
  const held = `held_removals as h where ${isOf(stream, 'h')}`;
  const at = yield* value(commitScope, `select max(h.absent_at) from ${held}`);
  const sql = isHeldBack(stream);
  const released =
    stream.method === 'feed'
      ? yield* remove(commitScope, stream, { sql, at: String(at) })
      : { written: 0, deleted: yield* drop(commitScope, stream, { sql }) };
  yield* send(commitScope, `delete from ${held}`);
  return released;
}
