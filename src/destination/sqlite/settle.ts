import type { Settlement, Weight } from '../../core/destination.ts';
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
  tableOf,
  type Where,
} from './conditions.ts';
import { going } from './gathered.ts';
import { holdBack, holdOnly } from './hold.ts';
import { findMissing, isMissing } from './missing.ts';
import { type Part, run, value, type Writing } from './part.ts';
import { remove } from './remove.ts';
import { drop, replace } from './replace-gathered.ts';
import { bringSeen } from './seen.ts';
import { type Changed, unfinish } from './write-changes.ts';
import { leaveRows } from './write-page.ts';

type Sweep = NonNullable<Settlement['sweep']>;

/** What a settlement would remove; what is held back stays so, and weighs no more, until it is shown or let go (R14). */
export function weigh(part: Part, stream: Stream, settlement: Settlement): Weight {
  bringFor(part, stream, settlement);
  const gone = goingAt(stream, settlement);
  if (gone === null) return { live: 0, going: 0 };
  const rows = `from ${tableOf(stream)} t where t.env_id = @env and ${live(stream)}`;
  const counts = `not ${exempt(stream)} and not ${isHeldBack(stream)}`;
  const leaving = value(part, `select count(*) ${rows} and ${gone.sql} and ${counts}`, gone.values) as number;
  if (leaving === 0) return { live: 0, going: 0 };
  const enough = value(part, `select count(*) from (select 1 ${rows} and ${counts} limit @most)`, {
    most: 2 * leaving,
  });
  return { live: enough as number, going: leaving };
}

function bringFor(part: Part, stream: Stream, { sweep: swept, replace: scope }: Settlement): void {
  if (swept !== null || scope === 'all') findMissing(part, stream);
  else bringSeen(part, stream);
}

/** The rows `t` that a settlement removes; null when it removes none. */
function goingAt(stream: Stream, { sweep: swept, replace: scope, through, lastMark, run }: Settlement): Where | null {
  if (swept !== null) return { sql: sweptRows(stream), values: { through } };
  return scope === null ? null : { sql: going(stream, scope), values: { lastMark, run, through } };
}

/** The end of a round: a sweep, or what was gathered put in place, and what is paid and mended by that. */
export function settle(writing: Writing, stream: Stream, settlement: Settlement & { hold: boolean }): Changed {
  bringFor(writing, stream, settlement);
  const { sweep: swept, replace: scope, through, hold, isWhole } = settlement;
  const of = { lastMark: settlement.lastMark, run: settlement.run };
  let changed: Changed = { written: 0, deleted: 0 };
  if (through !== null && stream.leader !== undefined) leaveUnasked(writing, stream, { ...of, through });
  if (swept !== null) changed = sweep(writing, stream, { ...swept, through, hold });
  else if (scope !== null) changed = replace(writing, stream, { scope, hold, values: { ...of, through } });
  if (stream.within !== undefined) leaveUnfilled(writing, stream, { ...of, isWhole });
  const owed = `marks as m where ${isOf(stream, 'm')} and ${isOwed('m')}`;
  run(writing, `delete from ${owed} and m.number <= @lastMark`, of);
  if (value(writing, `select 1 from ${owed} limit 1`, of) !== undefined) unfinish(writing, [stream.name]);
  if (isWhole) forgetRejected(writing, stream, of.run);
  return changed;
}

/**
 * A live row without the fields of its kind is still owed, whatever the typed list has shown: that may lag behind (R22). A scan,
 * which is made without marks, makes one for each.
 */
function leaveUnfilled(
  writing: Writing,
  stream: Stream,
  { isWhole, ...of }: { isWhole: boolean; lastMark: number; run: number },
): void {
  const unfilled = isWhole
    ? `select t.id from ${tableOf(stream)} t where t.env_id = @env and ${live(stream)} and ${isUnfilled(stream)}`
    : `select m.id ${markedRows(stream)} and ${isUnfilled(stream)}`;
  leaveRows(writing, stream, { sql: unfilled, values: of });
}

/** Marks of rows after the last one asked for in the leading list, as far as no read has shown what they are owed (R18). */
function leaveUnasked(
  writing: Writing,
  stream: Stream,
  values: { lastMark: number; run: number; through: string },
): void {
  const shown = stream.staged === undefined ? 'false' : isSeen(stream, 'm.id');
  const sql = `select m.id from marks m where ${isOf(stream, 'm')} and ${isOwed('m')} and m.number <= @lastMark
    and m.id > @through and not ${shown}`;
  leaveRows(writing, stream, { sql, values });
}

/** A row rejected before that a read of the whole stream has not met again is gone from the source (R20). */
function forgetRejected(writing: Writing, stream: Stream, since: number): void {
  run(writing, `delete from rejected_rows as r where ${isOf(stream, 'r')} and r.run_id < @since`, { since });
}

function sweep(writing: Writing, stream: Stream, swept: Sweep & { hold: boolean; through: string | null }): Changed {
  const sql = sweptRows(stream);
  const values = { through: swept.through };
  const at = swept.at ?? writing.mirroredAt;
  if (swept.hold) holdBack(writing, stream, { sql, values, at });
  const removed = remove(writing, stream, { sql: `${sql} and ${mayGo(stream)}`, values, at });
  holdOnly(writing, stream, { sql: isMissing(stream) });
  return removed;
}

/** Rows the scan did not see, as far as they may go (R12). */
function sweptRows(stream: Stream): string {
  return `${isMissing(stream)} and (@through is null or t.id <= @through)`;
}

/** Lets go what was held back, without a new read (R14). */
export function release(writing: Writing, stream: Stream): Changed {
  const held = `held_removals as h where ${isOf(stream, 'h')}`;
  const at = value(writing, `select max(h.absent_at) from ${held}`);
  const sql = isHeldBack(stream);
  const released =
    stream.method === 'feed'
      ? remove(writing, stream, { sql, at: String(at) })
      : { written: 0, deleted: drop(writing, stream, { sql }) };
  run(writing, `delete from ${held}`);
  return released;
}
