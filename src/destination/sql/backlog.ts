import type { Backlog, BacklogQuery } from '../../core/destination.ts';
import { LAST_INSTANT } from '../../core/instant.ts';
import type { Stream } from '../../core/stream.ts';
import {
  exempt,
  firstKey,
  HAS_KEY,
  isOf,
  isOwed,
  isSeen,
  isUnfilled,
  live,
  markedRows,
  rejectedRows,
  type SqlCondition,
  tableOf,
} from './conditions.ts';
import { countRows } from './lookups.ts';
import { findMissing, isMissing, loadSeenKeys } from './seen-keys.ts';
import { column, type MirrorScope, type SqlStatements, value } from './statements.ts';
import { nameOf, quote } from './tables.ts';

/** No request has more ids (`MAX_IDS`). */
const BACKLOG_IDS = 1000;

/** Select statements with the column `id`, which end in a condition. */
const BACKLOG = { candidates, owned: movedParents, marked: markedBefore, unshown, rejected: rejectedBefore } as const;

/** The next ids in order, after the last one asked for. */
export function* backlog(mirrorScope: MirrorScope, stream: Stream, query: BacklogQuery): SqlStatements<Backlog> {
  if (query.about === 'candidates' || isOfAll(stream, query)) yield* findMissing(mirrorScope, stream);
  else if (query.about === 'unshown') yield* loadSeenKeys(mirrorScope, stream);
  const { sql, values } = BACKLOG[query.about](stream, query);
  const ids = yield* column(mirrorScope, `${sql} and id > @after order by id limit ${BACKLOG_IDS}`, {
    ...values,
    after: query.after,
  });
  // If there are no ids, counting all rows would be most of the cost of an idle run.
  const isWeighed = ids.length > 0 && query.after === '' && (query.about === 'owned' || query.about === 'marked');
  const weighed = isWeighed
    ? {
        ids: Number(yield* value(mirrorScope, `select count(*) from (${sql}) owed`, values)),
        rows: yield* countRows(mirrorScope, stream),
      }
    : null;
  return { ids: ids as string[], weighed };
}

/** Whether a scan of edges asks which ones it has not shown. */
function isOfAll({ staged }: Stream, { about, mode }: BacklogQuery): boolean {
  return about === 'unshown' && mode === 'scan' && staged !== undefined;
}

/** Live rows that were not seen: a sweep or a snapshot would remove them. Removals that a tombstone explains need no lookup (R14). */
function candidates(stream: Stream): SqlCondition {
  const key = stream.key[0];
  const ofSnapshot = stream.staged === undefined ? '' : ` and not ${exempt(stream)}`;
  return {
    sql: `select id from (select t.${quote(key)} id from ${tableOf(stream)} t where t.env_id = @env and ${live(stream)}
      and ${isMissing(stream)}${ofSnapshot}) owed where true`,
  };
}

/** Live marked rows that were last synced before the bound. */
function markedBefore(stream: Stream, { lastMark, before, run }: BacklogQuery): SqlCondition {
  return {
    sql: `select id from (select m.id ${markedRows(stream)} and m.number <= @lastMark
      and (t.synced_at is null or t.synced_at < @before)) owed where true`,
    values: { lastMark, before: before ?? LAST_INSTANT, run },
  };
}

/**
 * Marked rows that the reads have not shown (R18): in a typed list, rows that had its fields before; in lineage, columns that would lose
 * their last edge.
 */
function unshown(stream: Stream, query: BacklogQuery): SqlCondition {
  const { lastMark, run } = query;
  const values = { lastMark, run };
  const marked = `${markedRows(stream)} and m.number <= @lastMark`;
  if (stream.staged === undefined)
    return { sql: `select id from (select m.id ${marked} and not ${isUnfilled(stream)}) owed where true`, values };
  const first = firstKey(stream);
  const held = `select 1 from ${tableOf(stream)} e where e.env_id = @env and e.${first} = c.id`;
  const columns = isOfAll(stream, query)
    ? `select c.id from ${nameOf(stream.parentTable?.table)} c where c.env_id = @env and c.deleted_at is null
        and c.id in (select m.key_1 from missing_keys m where ${isOf(stream, 'm')})`
    : `select c.id from (select m.id ${marked}) c where true`;
  return {
    sql: `select id from (${columns} and exists (${held}) and not ${isSeen(stream, 'c.id')}) owed where true`,
    values,
  };
}

/** Marked parents that are live, or that have a live row: any other has nothing to ask for. */
function movedParents(stream: Stream, { lastMark, run }: BacklogQuery): SqlCondition {
  const { parent } = stream;
  if (parent === undefined) throw new Error(`${stream.name} has no parent`);
  const lives = `select 1 from ${nameOf(parent.table)} o where o.env_id = @env and o.id = m.id and o.deleted_at is null`;
  const owns = `select 1 from ${tableOf(stream)} t where t.env_id = @env and t.${quote(parent.by)} = m.id and ${live(stream)}`;
  return {
    sql: `select m.id from marks m where ${isOf(stream, 'm')} and ${isOwed('m')} and m.number <= @lastMark
      and (exists (${lives}) or exists (${owns}))`,
    values: { lastMark, run },
  };
}

/** Rejected rows that the round has not seen so far. */
function rejectedBefore(stream: Stream, { run }: BacklogQuery): SqlCondition {
  return {
    sql: `select id from (select r.row_key id ${rejectedRows(stream)} and ${HAS_KEY} and r.run_id < @run) owed where true`,
    values: { run },
  };
}
