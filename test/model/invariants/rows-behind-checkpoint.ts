import { addDays, addSeconds } from '../../../src/core/time/instant.ts';
import { roundEndOf } from '../../support/commit-parts.ts';
import { askedBy, isConfirmation, isFeed, isScan, isWhole, itemsOf, type Walk } from '../book.ts';
import { bucket, shownAs } from '../compare.ts';
import type { Row } from '../mirrored.ts';
import { FAR_AHEAD, type Item } from '../place.ts';
import { FED, floorOf, type Held, isEarly, isLive, keyOf, type Moment, sameBut, timeOf, variantsOf } from './moment.ts';

/**
 * No checkpoint ahead of its rows (R5, R6, R8): the stored cursor is that of a committed page, every row of the page at
 * hand is in the mirror as shown or newer, rejected, gathered or overruled (R10), and a round ends with whole reads alone.
 */
export function rowsBehindCheckpoint(moment: Moment): readonly string[] {
  return [...cursorOfCommittedPage(moment), ...rowsOfPage(moment), ...readsOfRound(moment)];
}

function cursorOfCommittedPage({ after, envId, walks }: Moment): string[] {
  const read = after.round?.read;
  if (read === undefined || read === null || read.cursor === null) return [];
  const asked = askedBy({ path: [envId, ...read.path], query: read.query });
  const walk = walks.find((each) => askedBy(each) === asked && each.query['limit'] === read.query['limit']);
  const chain = walk?.pages.filter(({ committed }) => committed) ?? [];
  const leads = chain.every(({ cursor }, i) => cursor === (chain[i - 1]?.nextCursor ?? null));
  return leads && chain.at(-1)?.nextCursor === read.cursor ? [] : [`the cursor ${read.cursor} is of no committed page`];
}

function rowsOfPage(moment: Moment): string[] {
  const { page, walk, stream, rows, envId } = moment;
  if (page === null || walk === null || isConfirmation(walk, stream)) return [];
  const isRejected = (key: string): boolean =>
    rows('select 1 from rejected_rows where env_id = ? and stream = ? and row_key = ?', envId, stream, key).length > 0;
  return (
    (page.items as Item[])
      // Without a server time any time is believed (R10).
      .filter((item) => moment.serverTime !== null || item['synced_at'] !== FAR_AHEAD)
      .filter((item) => !isSettled(moment, walk, item) && !isRejected(keyOf(stream, item)))
      .map((item) => `${keyOf(stream, item)} was served and is not there: ${JSON.stringify(item)}`)
  );
}

function isSettled(moment: Moment, walk: Walk, item: Item): boolean {
  const { stream, after, envId, rows } = moment;
  const held = after.rows.get(keyOf(stream, item));
  if (FED.includes(stream)) {
    if (held === undefined) return false;
    return 'deleted_since' in walk.query ? isBuried(held, item) : isTaken(held, shownAs(stream, item), moment);
  }
  const wanted = shownAs(stream, item);
  if (stream === 'table_assets' || stream === 'bi_assets')
    return (
      !isLive(held) ||
      held['kind'] !== (stream === 'bi_assets' ? 'bi' : 'table') ||
      sameBut(held, wanted) ||
      isEarly(moment, walk, item)
    );
  const table = stream === 'test_executions' ? stream : `${stream}_staged`;
  const gathered = rows(`select * from ${table} where env_id = ?`, envId);
  const isHeld = held !== undefined && sameBut(held, wanted) && isSeen(moment, keyOf(stream, item));
  return (isHeld || gathered.some((row) => sameBut(row, wanted))) && isArchived(moment, item);
}

/** A row that is there as shown is not gathered, but known to be shown (R16). */
function isSeen({ seen, envId, stream }: Moment, key: string): boolean {
  return seen(stream, envId).some((both) => both.filter((part) => part !== '').join(' < ') === key);
}

/** Also written at once where it is kept for ever (R17). */
function isArchived({ stream, rows, envId }: Moment, item: Item): boolean {
  if (stream === 'latest_test_executions')
    return rows(
      'select * from test_executions where env_id = ? and sub_test_unique_id = ? and id = ?',
      ...[envId, item['sub_test_unique_id'], item['id']],
    ).some((row) => sameBut(row, shownAs('test_executions', item)));
  if (stream !== 'asset_health_scores') return true;
  const kept = rows('select * from asset_health_score_history where env_id = ?', envId);
  return scoresOf(item).every((score) => kept.some((row) => sameBut(row, score)));
}

/** The total and each dimension of a score. */
export function scoresOf(item: Item): Row[] {
  const asset = { asset_id: String(item['asset_id']) };
  const parts = (item['dimensions'] as Item[]).map((part) => ({
    dimension: String(part['dimension']),
    ...bucket(part),
  }));
  return [{ dimension: 'total', ...bucket(item['total'] as Item) }, ...parts].map((row) => ({ ...asset, ...row }));
}

function isBuried(held: Row, item: Item): boolean {
  const at = shownAs('columns', { synced_at: item['deleted_at'] })['synced_at'] as string;
  // On a tie, neither wins (R10).
  const ownAt = timeOf(held, 'synced_at');
  if (ownAt > at || (ownAt === at && isLive(held))) return true;
  return held['deletion'] === 'tombstone' && timeOf(held, 'deleted_at') >= at;
}

function isTaken(held: Row, wanted: Row, moment: Moment): boolean {
  const floor = floorOf(moment.walk as Walk, moment);
  const shownAt = timeOf(wanted, 'synced_at');
  if (held['deletion'] === 'absent') return false;
  const [ownAt, diedAt] = [timeOf(held, 'synced_at'), timeOf(held, 'deleted_at')];
  // If the mirror's row or tombstone is within the overlap, the newer version wins (R10).
  const stands = floor === null || ownAt > floor || diedAt > floor;
  if (!isLive(held) && !(diedAt >= shownAt && stands)) return false;
  return sameBut(held, wanted) || (ownAt > shownAt && stands);
}

/** A round that has ended has read all of its lists to their ends; a snapshot in place is what they showed. */
function readsOfRound(moment: Moment): string[] {
  const { commit, before, stream, walks, after, envId } = moment;
  const roundEnd = roundEndOf(commit);
  if (roundEnd === undefined || stream === 'test_executions') return [];
  const leftOut = isLeftOut(moment);
  const broken = walks
    .filter((walk) => !isWhole(walk) && !(before.round?.mode === 'scan' && 'deleted_since' in walk.query))
    .filter((walk) => !(leftOut && isFeed(walk)))
    // That of a scan which is set aside goes on later (R9).
    .filter((walk) => !isUnderWay(walk, envId, before.waiting))
    .map((walk) => `a round ended amid ${JSON.stringify(walk.query)}`);
  const isScanned = before.round?.mode === 'scan' || before.round?.mode === 'snapshot';
  const scans = walks.filter((walk) => isWhole(walk) && isScan(walk));
  if (isScanned && scans.length < variantsOf(stream)) broken.push('a scan ended before all of its lists were read');
  if (before.round?.mode === 'feed' && !leftOut) broken.push(...feedsOfRound(moment));
  if (before.round?.mode === 'scan' && before.round.sweeps && FED.includes(stream)) broken.push(...notSwept(moment));
  if (roundEnd.replace !== 'all' || stream === 'column_lineage') return broken;
  const shown = new Map(walks.flatMap(itemsOf).map((item) => [keyOf(stream, item), shownAs(stream, item)]));
  const extra = [...after.rows.keys()].filter((key) => !shown.has(key) && !after.heldBack.has(key));
  return broken.concat(
    extra.map((key) => `${key} is in a snapshot that did not show it`),
    [...shown]
      .filter(([key, wanted]) => !sameBut(after.rows.get(key) ?? {}, wanted))
      .map(([key]) => `${key} was gathered and is not as it was shown`),
  );
}

function isUnderWay(walk: Walk, envId: string, round: Held['round']): boolean {
  const read = round?.read ?? null;
  return read !== null && askedBy(walk) === askedBy({ path: [envId, ...read.path], query: read.query });
}

const REACH_DAYS = 89;

/** What is left out, since it went out of reach beside a scan that has failed (R3), moves no watermark (R9). */
function isLeftOut(moment: Moment): boolean {
  const { before, after, latest } = moment;
  if (before.round?.mode !== 'feed') return false;
  const isOutOfReach = isDue(moment) && latest !== null && sinceOf(moment) < addDays(latest, -REACH_DAYS);
  return before.round.incomplete || (isOutOfReach && after.watermark === before.watermark);
}

/** Whether a scan is due, or was tried in this run. */
function isDue({ rows, envId, stream }: Moment): boolean {
  const sql = `select coalesce(c.waiting_scan, c.scan_due) due, c.returned_count is not m.returned_count as returned
    from sync_checkpoints c left join mirror_environments m on m.env_id = c.env_id where c.env_id = ? and c.stream = ?`;
  const [found] = rows(sql, envId, stream);
  return found?.['due'] != null || found?.['returned'] === 1;
}

function sinceOf({ before, overlapSeconds }: Moment): string {
  return before.watermark === null ? '' : addSeconds(before.watermark, -overlapSeconds);
}

/** Both feeds, from no later than the watermark less the overlap (R2), or as far back as they reach beside a scan that is still due (R9). */
function feedsOfRound(moment: Moment): string[] {
  const { walks } = moment;
  const [since, isScanDue] = [sinceOf(moment), isDue(moment)];
  const from = ({ decidedBy }: Walk): string => {
    const reach = decidedBy === null ? '' : addDays(decidedBy, -REACH_DAYS);
    return isScanDue && since < reach ? addDays(reach, 1) : since;
  };
  return ['synced_since', 'deleted_since']
    .filter((name) => !walks.some((walk) => isWhole(walk) && String(walk.query[name] ?? '9999') <= from(walk)))
    .map((name) => `a round ended without ${name}=${since}`);
}

/** What a finished scan leaves live was shown in its round, rejected or held back (R12, R14). */
function notSwept({ stream, commit, walks, after, rows, envId }: Moment): string[] {
  const through = roundEndOf(commit)?.through ?? null;
  const shown = new Set(walks.flatMap(itemsOf).map((item) => String(item['id'])));
  const rejected = new Set(
    rows('select row_key from rejected_rows where env_id = ? and stream = ?', envId, stream).map((r) => r['row_key']),
  );
  return [...after.rows]
    .filter(([key, row]) => isLive(row) && !shown.has(key) && !rejected.has(key) && !after.heldBack.has(key))
    .filter(([key]) => through === null || key <= through)
    .map(([key]) => `${key} lives on, though a finished scan did not show it`);
}
