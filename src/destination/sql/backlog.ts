import type { Backlog, BacklogQuery } from '../../core/ports/destination.ts';
import type { Stream } from '../../core/stream.ts';
import { LAST_INSTANT } from '../../core/time/instant.ts';
import {
  firstKey,
  fromMarked,
  fromRejected,
  tableOf,
  WHERE_HAS_KEY,
  WHERE_UNSETTLED,
  whereExplained,
  whereHeldBack,
  whereLive,
  whereSeen,
  whereStream,
  whereUncleared,
} from './conditions.ts';
import { countTable, liveRows } from './lookups.ts';
import { findMissing, loadSeenKeys, TIES, whereMissing } from './seen-keys.ts';
import { column, type MirrorScope, type SqlStatements, value } from './statements.ts';
import { nameOf, quote } from './tables.ts';

/** No request takes more ids (`MAX_IDS`). */
const BACKLOG_IDS = 1000;

/** Selects the column `id`; each statement ends in a condition. */
const BACKLOG = {
  candidates,
  ties,
  owned: movedParents,
  marked: markedBefore,
  unshown,
  rejected: rejectedBefore,
} as const;

/** Whether the ids depend on what the round has seen: then `backlog` may fill work tables. */
export function dependsOnSeen({ parent, staged }: Stream, { about, mode }: BacklogQuery): boolean {
  if (about === 'unshown') return parent === undefined && staged !== undefined;
  return about === 'ties' || (about === 'candidates' && mode !== 'feed');
}

/** The next ids in order, after the last one looked up. */
export function* backlog(scope: MirrorScope, stream: Stream, query: BacklogQuery): SqlStatements<Backlog> {
  if (dependsOnSeen(stream, query)) {
    const isMissing = query.about === 'candidates' || isOfAll(stream, query);
    yield* isMissing ? findMissing(scope, stream) : loadSeenKeys(scope, stream);
  }
  const sql = BACKLOG[query.about](stream, query);
  const values = { ...query, before: query.before ?? LAST_INSTANT };
  const next = `${sql} and id > @after order by id limit ${BACKLOG_IDS}`;
  const ids = (yield* column(scope, next, values)) as string[];
  // Without ids, counting all rows would be most of the cost of an idle run.
  const isWeighed = ids.length > 0 && query.after === '' && (query.about === 'owned' || query.about === 'marked');
  if (!isWeighed) return { ids, weighed: null };
  const count = Number(yield* value(scope, `select count(*) from (${sql}) pending`, values));
  return { ids, weighed: { ids: count, rows: yield* countTable(scope, stream) } };
}

/** Whether a scan of edges looks for the ones that it has not returned. */
function isOfAll({ staged }: Stream, { about, mode }: BacklogQuery): boolean {
  return about === 'unshown' && mode === 'scan' && staged !== undefined;
}

function idsFrom(selected: string): string {
  return `select id from (${selected}) pending where true`;
}

/** Unseen live rows, except those whose removal a tombstone explains (R14); without a scan, those held back. */
function candidates(stream: Stream, { mode }: BacklogQuery): string {
  if (mode === 'feed') return idsFrom(`select t.id ${liveRows(stream)} and ${whereHeldBack(stream)}`);
  const ofSnapshot = stream.staged === undefined ? '' : ` and not ${whereExplained(stream)}`;
  return idsFrom(`select t.${firstKey(stream)} id ${liveRows(stream)} and ${whereMissing(stream)}${ofSnapshot}`);
}

/** Rows whose tombstones may be older than they are; after a scan, only those that live or that it returned (R10). */
function ties(stream: Stream, { mode }: BacklogQuery): string {
  const live = `select 1 from ${tableOf(stream)} t where t.env_id = @env and t.id = s.key_1 and ${whereLive(stream)}`;
  const returned = `select 1 from seen_keys o where ${whereStream(stream, 'o')} and o.key_1 = s.key_1 and o.read_number <> ${TIES}`;
  const shown = mode === 'scan' ? ` and (exists (${live}) or exists (${returned}))` : '';
  return idsFrom(`select s.key_1 id from seen_keys s where ${whereStream(stream, 's')}
    and s.read_number = ${TIES}${shown}`);
}

/** Live marked rows that were last synced before the bound. */
function markedBefore(stream: Stream): string {
  return idsFrom(`select m.id ${fromMarked(stream)} and m.number <= @lastMark
    and (t.synced_at is null or t.synced_at < @before)`);
}

/**
 * Marked rows that the reads did not return, unless they have no dependents yet and are read once more anyway; after a
 * scan of edges, also the columns that would lose their last edge (R18).
 */
function unshown(stream: Stream, query: BacklogQuery): string {
  if (stream.parent !== undefined) return movedParents(stream, query);
  const isStaged = stream.staged !== undefined;
  const unseen = isStaged ? `not ${whereSeen(stream, 't.id')}` : 'true';
  const held = `select 1 from ${tableOf(stream)} e where e.env_id = @env and e.${firstKey(stream)} = m.id`;
  const counts = isStaged ? `(not ${WHERE_UNSETTLED} or exists (${held}))` : `not ${WHERE_UNSETTLED}`;
  const marked = `select m.id ${fromMarked(stream)} and m.number <= @lastMark and ${counts} and ${unseen}`;
  const losing = `select t.id from ${nameOf(stream.parentTable?.table)} t where t.env_id = @env and t.deleted_at is null
    and t.id in (select m.key_1 from missing_keys m where ${whereStream(stream, 'm')}) and ${unseen}`;
  return idsFrom(isOfAll(stream, query) ? `${marked} union ${losing}` : marked);
}

/**
 * Marked parents that are live or have a live row; others need no lookup. After their rows were looked up: those still
 * marked that are live and have a live row (R13).
 */
function movedParents(stream: Stream, { about }: BacklogQuery): string {
  const { parent } = stream;
  if (parent === undefined) throw new Error(`${stream.name} has no parent`);
  const lives = `select 1 from ${nameOf(parent.table)} o where o.env_id = @env and o.id = m.id and o.deleted_at is null`;
  const owns = `select 1 from ${tableOf(stream)} t where t.env_id = @env and t.${quote(parent.by)} = m.id and ${whereLive(stream)}`;
  return `select m.id from marks m where ${whereStream(stream, 'm')} and ${whereUncleared('m')} and m.number <= @lastMark
    and (exists (${lives}) ${about === 'owned' ? 'or' : 'and'} exists (${owns}))`;
}

/** Rejected rows that the round has not seen yet. */
function rejectedBefore(stream: Stream): string {
  return idsFrom(`select r.row_key id ${fromRejected(stream)} and ${WHERE_HAS_KEY} and r.run_id < @run`);
}
