import { roundEndOf } from '../../support/commit-parts.ts';
import { isConfirmation, isScan, isWhole, itemsOf, type Walk } from '../book.ts';
import type { Row } from '../mirrored.ts';
import { isLive, type Moment, mayLag, sameBut, shows, variantsOf } from './moment.ts';
import { covers } from './removals-told.ts';

/** No mark lost (R13, R18, R22): what a commit changes is marked, and a mark goes only with a read made for it since. */
export function marksStay(moment: Moment): readonly string[] {
  const { before, after, stream } = moment;
  const made = owing(moment)
    .filter((mark) => (after.marks.get(mark) ?? 0) <= before.lastMark)
    .map((mark) => `${mark} is not marked, though it has changed`);
  const lost = [...before.marks]
    .filter(([mark, number]) => (after.marks.get(mark) ?? 0) < number)
    .filter(
      ([mark, number]) => !mark.startsWith(`${stream} `) || !isPaid(moment, mark.slice(stream.length + 1), number),
    )
    .map(([mark, number]) => `the mark of ${mark}, ${number}, was lost`);
  return [...made, ...lost];
}

/** The marks a commit has to make: of rows shown anew, and of assets that went or came back. */
function owing({ stream, before, after }: Moment): string[] {
  if (stream !== 'columns' && stream !== 'assets') return [];
  const marks = [...after.rows].flatMap(([id, row]) => {
    const old = before.rows.get(id);
    const shown = isLive(row) && (old === undefined || !sameBut(old, row)) ? shownMarks(stream, id, row) : [];
    const moved = old !== undefined && isLive(old) !== isLive(row);
    return stream === 'assets' && moved ? [...shown, `columns ${id}`, `tests ${id}`] : shown;
  });
  return marks.filter((mark) => before.marking.has(mark.split(' ', 1)[0] ?? ''));
}

function shownMarks(stream: 'columns' | 'assets', id: string, row: Row): string[] {
  if (stream === 'columns') return [`column_lineage ${id}`];
  return ['table', 'bi'].includes(String(row['kind'])) ? [`${row['kind']}_assets ${id}`] : [];
}

function isPaid(moment: Moment, id: string, number: number): boolean {
  const { walk, page, walks, commit, stream } = moment;
  if (page !== null && walk !== null) {
    // What is read before the row is older than the overlap pays nothing (R22).
    if (TYPED.includes(stream) && !isConfirmation(walk, stream))
      return itemsOf(walk).some((item) => item['id'] === id) && !mayLag(moment, walk, moment.after.rows.get(id));
    if (TYPED.includes(stream)) return false;
    const asked = walks.filter((each) => idsOf(each).includes(id) && number <= each.lastMark);
    return asked.length >= variantsOf(stream) && asked.every(isWhole) && standLive(moment, asked, id);
  }
  if (!roundEndOf(commit)) return false;
  const leader = leaderOf(moment, id);
  if (leader === null) return true;
  const asked = walks.filter((each) => !isConfirmation(each, stream) && isWhole(each) && number <= each.lastMark);
  const paying = asked.filter((each) => pays(each, { stream, id, leader }));
  if (!TYPED.includes(stream) && stream !== 'column_lineage') return paying.length > 0;
  // A round of lineage is settled by the time at which its first page came.
  const isLineage = stream === 'column_lineage';
  const settled = paying.filter((each) => !mayLag(moment, isLineage ? { ...each, at: each.askedAt } : each, leader));
  return settled.some((each) => showsOf(each, id)) || (settled.length > 0 && isConfirmed(moment, id));
}

const TYPED = ['table_assets', 'bi_assets'] as readonly string[];

/** What was shown of an asset stands live, or rejected, which is asked for by itself: a row that a younger tombstone holds down leaves the mark (R13, R20). */
function standLive({ after, rows, envId, stream }: Moment, asked: readonly Walk[], assetId: string): boolean {
  const rejected = rows('select row_key from rejected_rows where env_id = ? and stream = ?', envId, stream);
  const shown = new Set(asked.flatMap(itemsOf).map((item) => String(item['id'])));
  for (const { row_key: id } of rejected) shown.delete(String(id));
  return [...after.rows].every(([id, row]) => !shown.has(id) || row['asset_id'] !== assetId || isLive(row));
}

/** Whether a read shows the row that a mark speaks of: itself, or an edge into it. */
function showsOf(walk: Walk, id: string): boolean {
  return shows(walk, id) || itemsOf(walk).some((item) => item['downstream_column_id'] === id);
}

/** The leading list was asked after it and shows the row, of which the mirror has all there is to have (R18, R22). */
export function isConfirmed(moment: Moment, id: string): boolean {
  const { walks, stream, envId, rows } = moment;
  const shown = walks.filter((each) => isConfirmation(each, stream) && isWhole(each) && shows(each, id));
  if (shown.length === 0) return false;
  if (stream === 'column_lineage') return true;
  const [row] = rows('select data_platform, bi_platform from assets where env_id = ? and id = ?', envId, id);
  return row?.[stream === 'table_assets' ? 'data_platform' : 'bi_platform'] !== null;
}

function idsOf({ query }: Walk): readonly string[] {
  return ['ids', 'asset_ids', 'column_ids'].flatMap((name) => (query[name] as string[] | undefined) ?? []);
}

function pays(walk: Walk, { stream, id, leader }: { stream: Moment['stream']; id: string; leader: Row }): boolean {
  if (stream === 'column_lineage') return covers(walk, id, leader);
  return isScan(walk) || idsOf(walk).includes(id);
}

/** What a mark speaks of; null when nothing of it is left to be asked for. */
function leaderOf({ stream, rows, envId }: Moment, id: string): Row | null {
  const table = stream === 'column_lineage' ? 'columns' : 'assets';
  const leader = rows(`select * from ${table} where env_id = ? and id = ?`, envId, id)[0];
  if (stream === 'table_assets' || stream === 'bi_assets')
    return isLive(leader) && leader['kind'] === stream.split('_')[0] ? leader : null;
  if (isLive(leader)) return leader;
  if (stream === 'column_lineage') return null;
  const owned = rows(`select * from ${stream} where env_id = ? and asset_id = ? and deleted_at is null`, envId, id)[0];
  return owned ?? null;
}
