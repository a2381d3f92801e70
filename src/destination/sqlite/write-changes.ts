import { marks as marksTable } from '../../../schema/sync.ts';
import type { Counts } from '../../core/destination.ts';
import type { Mark } from '../../core/marks.ts';
import type { Change } from '../../core/newest-wins.ts';
import type { Stream, StreamName } from '../../core/stream.ts';
import { upsert } from './bulk-upsert.ts';
import { lastMark } from './lookups.ts';
import { column, run, type Writing } from './part.ts';
import { nameOf, quote } from './shape.ts';

/** What became of rows. */
export type Changed = Pick<Counts, 'written' | 'deleted'>;

/** Rows of a stream's own table, and what goes along with those that went (R18). */
export function writeChanges(writing: Writing, stream: Stream, changes: readonly Change[]): Changed {
  upsert(
    writing,
    stream.table,
    changes.map((change) => change.row),
  );
  const gone = changes.filter((change) => change.was === 'deleted').map((change) => change.row['id']);
  if (gone.length > 0) takeAlong(writing, stream, gone);
  if (gone.length > 0) doubt(writing, stream, gone);
  return { written: changes.length - gone.length, deleted: gone.length };
}

function takeAlong(writing: Writing, { takes }: Stream, ids: readonly unknown[]): void {
  if (takes === undefined) return;
  const sql = `delete from ${nameOf(takes.table)} where env_id = @env and ${quote(takes.by)} in (select value from json_each(@ids))`;
  run(writing, sql, { ids: JSON.stringify(ids) });
}

/** What the rows that went may have ended is read again: the service tells of no such end by itself (R18). */
function doubt(writing: Writing, { doubts }: Stream, ids: readonly unknown[]): void {
  if (doubts === undefined || !writing.marking.has(doubts.stream)) return;
  const sql = `select distinct ${quote(doubts.id)} from ${nameOf(doubts.table)}
    where env_id = @env and ${quote(doubts.by)} in (select value from json_each(@ids))`;
  const doubted = column(writing, sql, { ids: JSON.stringify(ids) }) as string[];
  writeMarks(
    writing,
    doubted.map((id) => ({ stream: doubts.stream, id })),
  );
}

/** Marks in the order in which they are made: each has the next number. */
export function writeMarks(writing: Writing, marks: readonly Mark[]): void {
  if (marks.length === 0) return;
  const last = lastMark(writing);
  upsert(
    writing,
    marksTable,
    marks.map((mark, i) => ({ ...mark, number: last + i + 1, left_by_run: null })),
  );
  run(writing, 'update mirror set last_mark = @last', { last: last + marks.length });
  unfinish(writing, [...new Set(marks.map((mark) => mark.stream))]);
}

/** A stream that owes a read has not finished its pass (R9). */
export function unfinish(writing: Writing, owing: readonly StreamName[]): void {
  run(writing, UNFINISH, { owing: JSON.stringify(owing) });
}

const UNFINISH = `update sync_checkpoints set finished_pass = null
  where env_id = @env and stream in (select value from json_each(@owing)) and finished_pass is not null`;
