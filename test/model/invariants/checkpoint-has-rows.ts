import { addDays, addSeconds } from '../../../src/core/time/instant.ts';
import { roundEndOf } from '../../support/commit-parts.ts';
import { FAR_FUTURE, type Item } from '../environment.ts';
import { bucket, expectedRow, instantText } from '../expected-rows.ts';
import { isComplete, isConfirmation, isFeed, isScan, itemsOf, readIdentity, type ServedRead } from '../request-log.ts';
import type { Row } from '../test-mirror.ts';
import {
  type CommitTransition,
  floorOf,
  includesRow,
  isLaggingVersion,
  isLive,
  isUntrusted,
  keyOf,
  SOFT_DELETING,
  type StreamState,
  timeOf,
  variantsOf,
} from './commit-transition.ts';

/**
 * No checkpoint is ahead of its rows (R5, R6, R8): the stored cursor belongs to a committed page, every row of the page
 * is in the mirror (as returned or newer), staged, rejected or overruled (R10), and a round ends only with complete
 * reads.
 */
export function checkpointHasRows(transition: CommitTransition): readonly string[] {
  return [...cursorOfCommittedPage(transition), ...rowsOfPage(transition), ...readsOfRound(transition)];
}

function cursorOfCommittedPage({ after, envId, reads }: CommitTransition): string[] {
  const stored = after.round?.read;
  if (stored === undefined || stored === null || stored.cursor === null) return [];
  const identity = readIdentity({ path: [envId, ...stored.path], query: stored.query });
  const read = reads.findLast(
    (each) => readIdentity(each) === identity && each.query['limit'] === stored.query['limit'],
  );
  const chain = read?.pages.filter(({ committed }) => committed) ?? [];
  const isChained = chain.every(({ cursor }, i) => cursor === (chain[i - 1]?.nextCursor ?? null));
  return isChained && chain.at(-1)?.nextCursor === stored.cursor
    ? []
    : [`the cursor ${stored.cursor} belongs to no committed page`];
}

function rowsOfPage(transition: CommitTransition): string[] {
  const { page, read, stream, rows, envId } = transition;
  if (page === null || read === null || isConfirmation(read, stream)) return [];
  const isRejected = (key: string): boolean =>
    rows('select 1 from rejected_rows where env_id = ? and stream = ? and row_key = ?', envId, stream, key).length > 0;
  return (
    (page.items as Item[])
      // Without a server time, every time is trusted (R10).
      .filter((item) => transition.serverTime !== null || item['synced_at'] !== FAR_FUTURE)
      .map((item) => withoutUntrustedTime(transition, item))
      .filter((item) => !isSettled(transition, read, item) && !isRejected(keyOf(stream, item)))
      .map((item) => `${keyOf(stream, item)} was served but is not in the mirror: ${JSON.stringify(item)}`)
  );
}

/** An untrusted time counts as the far future, but `extra` keeps it as sent (R10). */
function withoutUntrustedTime(transition: CommitTransition, item: Item): Item {
  const untrusted = { toString: () => FAR_FUTURE, toJSON: () => item['synced_at'] };
  return hasUntrustedTime(transition, item) ? { ...item, synced_at: untrusted } : item;
}

export function hasUntrustedTime(transition: CommitTransition, { synced_at: at = null }: Item): boolean {
  return at !== null && isUntrusted(instantText(String(at)), transition);
}

function isSettled(transition: CommitTransition, read: ServedRead, item: Item): boolean {
  const { stream, after, envId, rows } = transition;
  const held = after.rows.get(keyOf(stream, item));
  if (SOFT_DELETING.includes(stream)) {
    if (held === undefined) return false;
    return 'deleted_since' in read.query
      ? isTombstoned(held, item)
      : isApplied(held, expectedRow(stream, item), transition);
  }
  const wanted = expectedRow(stream, item);
  if (stream === 'table_assets' || stream === 'bi_assets')
    return (
      !isLive(held) ||
      held['kind'] !== (stream === 'bi_assets' ? 'bi' : 'table') ||
      includesRow(held, wanted) ||
      isLaggingVersion(transition, read, item)
    );
  const table = stream === 'test_executions' ? stream : `${stream}_staged`;
  const staged = rows(`select * from ${table} where env_id = ?`, envId);
  const isHeld = held !== undefined && includesRow(held, wanted) && isSeen(transition, keyOf(stream, item));
  return (isHeld || staged.some((row) => includesRow(row, wanted))) && isArchived(transition, item);
}

/** An unchanged row is not staged, but its key is recorded as seen (R16). */
function isSeen({ seen, envId, stream }: CommitTransition, key: string): boolean {
  return seen(stream, envId).some((both) => both.filter((part) => part !== '').join(' < ') === key);
}

/** Whether the row is also in the history, if the stream has one, unless it was pruned (R17). */
function isArchived({ stream, rows, envId }: CommitTransition, item: Item): boolean {
  if (stream === 'latest_test_executions') {
    const wanted = expectedRow('test_executions', item);
    const sql = 'select * from test_executions where env_id = ? and sub_test_unique_id = ? and id = ?';
    const held = rows(sql, envId, item['sub_test_unique_id'], item['id']);
    return (
      held.some((row) => includesRow(row, wanted)) || isPruned(rows, wanted, { envId, history: 'test_executions' })
    );
  }
  if (stream !== 'asset_health_scores') return true;
  const kept = rows('select * from asset_health_score_history where env_id = ?', envId);
  return scoresOf(item).every((score) => kept.some((row) => includesRow(row, score)));
}

/** Whether a run has pruned the history at least up to this row, perhaps leaving it. */
export function isPruned(
  rows: CommitTransition['rows'],
  row: Row,
  { envId, history }: { readonly envId: string; readonly history: string },
): boolean {
  const sql = `select max(coalesce(complete_before, ''), coalesce(pruning_before, '')) as before from pruned_history
    where env_id = ? and history = ?`;
  const at = String(row[history === 'test_executions' ? 'start_time' : 'bucket_at']);
  return rows(sql, envId, history).some(({ before }) => at < String(before));
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

function isTombstoned(held: Row, item: Item): boolean {
  const at = expectedRow('columns', { synced_at: item['deleted_at'] })['synced_at'] as string;
  // On a tie, neither wins (R10).
  const ownAt = timeOf(held, 'synced_at');
  if (ownAt > at || (ownAt === at && isLive(held))) return true;
  return held['deletion'] === 'tombstone' && timeOf(held, 'deleted_at') >= at;
}

function isApplied(held: Row, wanted: Row, transition: CommitTransition): boolean {
  const floor = floorOf(transition.read as ServedRead, transition);
  const shownAt = timeOf(wanted, 'synced_at');
  if (held['deletion'] === 'absent') return false;
  const [ownAt, diedAt] = [timeOf(held, 'synced_at'), timeOf(held, 'deleted_at')];
  // If the mirror's row or tombstone is within the overlap, the newer version wins (R10).
  const stands = floor === null || ownAt > floor || diedAt > floor;
  if (!isLive(held) && !(diedAt >= shownAt && stands)) return false;
  return includesRow(held, wanted) || (ownAt > shownAt && stands);
}

/** A finished round has read all of its lists completely, and a snapshot equals what they returned. */
function readsOfRound(transition: CommitTransition): string[] {
  const { commit, before, stream, reads, after, envId } = transition;
  const roundEnd = roundEndOf(commit);
  if (roundEnd === undefined || stream === 'test_executions') return [];
  const leftOut = isLeftOut(transition);
  const broken = reads
    .filter((read) => !isComplete(read) && !(before.round?.mode === 'scan' && 'deleted_since' in read.query))
    .filter((read) => !(leftOut && isFeed(read)))
    // The read of a waiting scan resumes later (R9).
    .filter((read) => !isCurrentRead(read, envId, before.waiting))
    .map((read) => `a round ended within ${JSON.stringify(read.query)}`);
  const isScanned = before.round?.mode === 'scan' || before.round?.mode === 'snapshot';
  const scans = reads.filter((read) => isComplete(read) && isScan(read));
  if (isScanned && scans.length < variantsOf(stream)) broken.push('a scan ended before all of its lists were read');
  if (before.round?.mode === 'feed' && !leftOut) broken.push(...feedsOfRound(transition));
  if (before.round?.mode === 'scan' && before.round.sweeps && SOFT_DELETING.includes(stream))
    broken.push(...notSwept(transition));
  if (roundEnd.replace !== 'all' || stream === 'column_lineage') return broken;
  const shown = new Map(reads.flatMap(itemsOf).map((item) => [keyOf(stream, item), expectedRow(stream, item)]));
  const extra = [...after.rows.keys()].filter((key) => !shown.has(key) && !after.heldBack.has(key));
  return broken.concat(
    extra.map((key) => `${key} is in a snapshot that did not return it`),
    [...shown]
      .filter(([key, wanted]) => !includesRow(after.rows.get(key) ?? {}, wanted))
      .map(([key]) => `${key} was staged and differs from what was returned`),
  );
}

function isCurrentRead(read: ServedRead, envId: string, round: StreamState['round']): boolean {
  const current = round?.read ?? null;
  return (
    current !== null && readIdentity(read) === readIdentity({ path: [envId, ...current.path], query: current.query })
  );
}

const LOOKBACK_DAYS = 89;

/** Whether the feeds were left out: their bound expired while a scan failed (R3), so the watermark stays (R9). */
function isLeftOut(transition: CommitTransition): boolean {
  const { before, after, latest } = transition;
  if (before.round?.mode !== 'feed') return false;
  const isOutOfReach =
    isDue(transition) && latest !== null && sinceOf(transition, transition) < addDays(latest, -LOOKBACK_DAYS);
  return before.round.incomplete || (isOutOfReach && after.watermark === before.watermark);
}

/** Whether a scan is due, or was tried in this run. */
function isDue({ rows, envId, stream }: CommitTransition): boolean {
  const sql = `select coalesce(c.waiting_scan, c.scan_due) due, c.returned_count is not m.returned_count as returned
    from sync_checkpoints c left join mirror_environments m on m.env_id = c.env_id where c.env_id = ? and c.stream = ?`;
  const [found] = rows(sql, envId, stream);
  return found?.['due'] != null || found?.['returned'] === 1;
}

function sinceOf({ before }: CommitTransition, { overlapSeconds }: Pick<CommitTransition, 'overlapSeconds'>): string {
  return before.watermark === null ? '' : addSeconds(before.watermark, -overlapSeconds);
}

/**
 * Both feeds were read from the watermark minus the overlap (R2) or, if a scan is still due, from their oldest bound
 * (R9).
 */
function feedsOfRound(transition: CommitTransition): string[] {
  const { reads } = transition;
  const isScanDue = isDue(transition);
  const from = ({ bound }: ServedRead): string => {
    const since = sinceOf(transition, bound);
    const reach = bound.latest === null ? '' : addDays(bound.latest, -LOOKBACK_DAYS);
    return isScanDue && since < reach ? addDays(reach, 1) : since;
  };
  // While a scan waits, the log also has the feeds of earlier rounds (R9).
  const isRead = (name: string): boolean => {
    const read = reads.findLast(({ query }) => name in query);
    return read !== undefined && isComplete(read) && String(read.query[name]) <= from(read);
  };
  return ['synced_since', 'deleted_since']
    .filter((name) => !isRead(name))
    .map((name) => `a round ended without ${name}=${sinceOf(transition, transition)}`);
}

/** After a finished scan, every live row was returned in its round, rejected or held back (R12, R14). */
function notSwept({ stream, commit, reads, after, rows, envId }: CommitTransition): string[] {
  const through = roundEndOf(commit)?.through ?? null;
  const shown = new Set(reads.flatMap(itemsOf).map((item) => String(item['id'])));
  const rejected = new Set(
    rows('select row_key from rejected_rows where env_id = ? and stream = ?', envId, stream).map((r) => r['row_key']),
  );
  return [...after.rows]
    .filter(([key, row]) => isLive(row) && !shown.has(key) && !rejected.has(key) && !after.heldBack.has(key))
    .filter(([key]) => through === null || key <= through)
    .map(([key]) => `${key} is live although a finished scan did not return it`);
}
