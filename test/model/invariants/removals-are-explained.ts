import { pageOf, roundEndOf } from '../../support/commit-parts.ts';
import { FAR_FUTURE } from '../environment.ts';
import { instantText } from '../expected-rows.ts';
import { isComplete, isConfirmation, isScan, itemsOf, type ServedRead } from '../request-log.ts';
import type { Row } from '../test-mirror.ts';
import {
  type CommitTransition,
  includesRow,
  isLive,
  isUntrusted,
  keyOf,
  returnsRow,
  SOFT_DELETING,
  timeOf,
  variantsOf,
} from './commit-transition.ts';
import { isConfirmed } from './marks-are-kept.ts';

const GUARD_ROWS = 50;

/**
 * A live row is removed only by a tombstone, by a finished scan or lookup that did not return it, or as a held removal
 * that is applied (R11, R12, R13, R14). No row of a feed stream leaves the table (R11), and no removal is held back
 * needlessly.
 */
export function removalsAreExplained(transition: CommitTransition): readonly string[] {
  const { stream, before, after } = transition;
  if (stream === 'table_assets' || stream === 'bi_assets') return typedRemovals(transition);
  const previous = before.rows === after.rows ? [] : [...before.rows];
  const gone = previous.filter(([key, row]) => isLive(row) && !isLive(after.rows.get(key)));
  const explain = SOFT_DELETING.includes(stream)
    ? unexplainedRow
    : stream === 'column_lineage'
      ? unexplainedEdge
      : unexplainedSnapshotRow;
  return [
    ...gone.flatMap(([key, row]) => explain(transition, key, row) ?? []).map((why) => `removed: ${why}`),
    ...previous
      .filter(([key]) => SOFT_DELETING.includes(stream) && !after.rows.has(key))
      .map(([key]) => `${key} left the table`),
    ...edgesOfLiveColumns(transition),
    ...unguardedRemovals(transition, gone),
    ...needlesslyHeld(transition, gone.length),
  ];
}

/** Removals are held back only if they are at least 50 and more than half of the other live rows (R14). */
function needlesslyHeld({ before, after }: CommitTransition, explained: number): string[] {
  const held = [...after.heldBack].filter((key) => !before.heldBack.has(key)).length;
  if (held === 0) return [];
  const live = [...before.rows].filter(([key, row]) => isLive(row) && !before.heldBack.has(key)).length - explained;
  const isRight = held >= GUARD_ROWS && 2 * held > live;
  return isRight ? [] : [`${held} of ${live} removals were held back`];
}

/** 50 rows and more than half are not removed at once, unless something explains it (R14). */
function unguardedRemovals(transition: CommitTransition, gone: readonly [string, Row][]): string[] {
  const { commit, before, allowShrink } = transition;
  if (roundEndOf(commit) === undefined || allowShrink || gone.length < GUARD_ROWS) return [];
  const isExplained = explanations(transition);
  const unexplained = gone.filter(([, row]) => !isExplained(row)).length;
  // Every remaining row counts, whatever its asset.
  const live = [...before.rows.values()].filter(isLive).length - (gone.length - unexplained);
  return unexplained >= GUARD_ROWS && 2 * unexplained > live
    ? [`${unexplained} of ${live} rows were removed at once`]
    : [];
}

/** What the rows of a stream hang on: a table, and the fields with its ids. */
const PARENTS: Readonly<Partial<Record<string, readonly [table: 'assets' | 'columns' | 'tests', ...string[]]>>> = {
  columns: ['assets', 'asset_id'],
  tests: ['assets', 'asset_id'],
  asset_lineage: ['assets', 'upstream_asset_id', 'downstream_asset_id'],
  column_lineage: ['columns', 'upstream_column_id', 'downstream_column_id'],
  latest_test_executions: ['tests', 'test_id'],
};

/**
 * Tells whether the removal of a row is explained (R14): a tombstone deleted its parent, or the parent's asset; for an
 * edge, either end. An edge is also explained if its downstream end was returned with other edges.
 */
function explanations({ rows, envId, stream, reads }: CommitTransition): (row: Row) => boolean {
  const [table, ...fields] = PARENTS[stream] ?? ['assets'];
  const asset = table === 'assets' ? 'id' : 'asset_id';
  const sql = `select p.id from ${table} p left join assets a on a.env_id = p.env_id and a.id = p.${asset}
    where p.env_id = ? and 'tombstone' in (p.deletion, a.deletion)`;
  const gone = new Set(rows(sql, envId).map(({ id }) => id));
  const [, downstream] = fields;
  const returned = new Set(downstream ? reads.flatMap(itemsOf).map((item) => item[downstream]) : []);
  return (row) =>
    fields.some((field) => gone.has(row[field] as string)) ||
    (downstream !== undefined && returned.has(row[downstream]));
}

/** The typed streams delete nothing. */
function typedRemovals({ before, after }: CommitTransition): string[] {
  return (before.rows === after.rows ? [] : [...before.rows])
    .filter(([key, row]) => row['deleted_at'] !== after.rows.get(key)?.['deleted_at'])
    .map(([key]) => `${key} was deleted or restored by a typed stream`);
}

function unexplainedRow(transition: CommitTransition, key: string, row: Row): string | null {
  const { after, read, page, reads, commit, before, stream } = transition;
  const removed = after.rows.get(key);
  if (removed?.['deletion'] === 'tombstone') {
    const isReported = (page?.items as Record<string, unknown>[] | undefined)?.some(
      (item) => item['id'] === key && instantText(String(item['deleted_at'])) === removed['deleted_at'],
    );
    if (!isReported || !read || !('deleted_since' in read.query)) return `${key} without a tombstone`;
    const at = timeOf(row, 'synced_at');
    // A run without a server time may have stored a time that no other run trusts (R10).
    const isOlder =
      at !== instantText(FAR_FUTURE) && !isUntrusted(at, transition) && at > timeOf(removed, 'deleted_at');
    return isOlder ? `${key} by a tombstone older than itself` : null;
  }
  if (before.heldBack.has(key) && !after.heldBack.has(key)) return null;
  const swept = pageOf(commit).sweptRows;
  const owner = String(row['asset_id']);
  const [parameter, id] = swept?.by === 'id' ? ['ids', key] : ['asset_ids', owner];
  // While a scan waits, the log also has the reads of earlier rounds (R9).
  const asked = reads
    .filter((each) => (each.query[parameter] as string[] | undefined)?.includes(id))
    .slice(-variantsOf(stream));
  if (swept !== undefined && isAnswered(asked, stream) && !asked.some((each) => returnsRow(each, key)))
    return swept.by === 'id' || isOwnerKnown(transition, owner)
      ? null
      : `${key} of an asset that was not confirmed to exist`;
  if (!roundEndOf(commit)) return `${key} in the middle of a round`;
  if (!isAnswered(reads.filter(isScan), stream)) return `${key} by a scan that was not finished`;
  // A tombstone older than the row does not count as returning it.
  return reads.some((each) => !('deleted_since' in each.query) && returnsRow(each, key))
    ? `${key} although it was returned`
    : null;
}

/** Whether the owner is deleted, or its own list returned it after its rows were looked up (R13). */
function isOwnerKnown({ rows, envId, reads, stream }: CommitTransition, owner: string): boolean {
  const [asset] = rows('select deleted_at from assets where env_id = ? and id = ?', envId, owner);
  return (
    !isLive(asset) || reads.some((each) => isConfirmation(each, stream) && isComplete(each) && returnsRow(each, owner))
  );
}

function isAnswered(reads: readonly ServedRead[], stream: CommitTransition['stream']): boolean {
  return reads.length >= variantsOf(stream) && reads.every(isComplete);
}

function unexplainedSnapshotRow(transition: CommitTransition, key: string, row: Row): string | null {
  const { reads, commit, before, after, stream } = transition;
  if (before.heldBack.has(key) && !after.heldBack.has(key)) return null;
  if (!roundEndOf(commit)) return `${key} in the middle of a snapshot`;
  if (!isAnswered(reads.filter(isScan), stream)) return `${key} by a snapshot that was not finished`;
  const asked = reads.filter(({ query }) => (query['sub_test_ids'] as string[] | undefined)?.includes(key));
  if (stream === 'latest_test_executions' && !isAnswered(asked, stream) && !explanations(transition)(row))
    return `${key} without being looked up`;
  return reads.flatMap(itemsOf).some((item) => keyOf(stream, item) === key) ? `${key} although it was returned` : null;
}

/** An edge is removed with its column, or if a complete read of the column's edges did not return it (R18). */
function unexplainedEdge(transition: CommitTransition, key: string, row: Row): string | null {
  const { commit, reads, before, after, rows, envId } = transition;
  if (before.heldBack.has(key) && !after.heldBack.has(key)) return null;
  if (!roundEndOf(commit)) return `${key} in the middle of a round`;
  const column = String(row['downstream_column_id']);
  const parent = rows('select synced_at, deleted_at from columns where env_id = ? and id = ?', envId, column)[0];
  if (!isLive(parent)) return null;
  if (reads.flatMap(itemsOf).some((item) => keyOf('column_lineage', item) === key))
    return `${key} although it was returned`;
  if (!reads.some((read) => isComplete(read) && covers(read, column, parent)))
    return `${key} although its column's edges were not read`;
  const isLast = ![...after.rows.values()].some((edge) => edge['downstream_column_id'] === column);
  return isLast && !isConfirmed(transition, column)
    ? `${key}, the last edge of a column that was not confirmed to exist`
    : null;
}

/** Whether a read of lineage covers all edges of a column. */
export function covers(read: ServedRead, column: string, parent: Row): boolean {
  const { query } = read;
  if ((query['column_ids'] as string[] | undefined)?.includes(column)) return true;
  return isScan(read) || String(query['synced_since'] ?? '9999') <= timeOf(parent, 'synced_at');
}

function edgesOfLiveColumns({ stream, before, after }: CommitTransition): string[] {
  if (stream !== 'columns' || before.edges === after.edges) return [];
  // A newer tombstone of a deleted column deletes the edges that the service returned in between (R18).
  const hasDied = (id: string): boolean => {
    const [was, is] = [before.rows.get(id), after.rows.get(id)];
    return is !== undefined && !isLive(is) && (was === undefined || !includesRow(was, is));
  };
  return [...before.edges]
    .filter(([key]) => !after.edges.has(key))
    .filter(([, edge]) => isLive(after.rows.get(String(edge['downstream_column_id']))))
    .filter(([, edge]) => !hasDied(String(edge['upstream_column_id'])))
    .map(([key]) => `removed: the edge ${key} of a live column`);
}
