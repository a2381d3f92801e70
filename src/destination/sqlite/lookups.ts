import { type Decoded, joinKey } from '../../core/decode.ts';
import type { DueTest, Facts, Owed, OwedQuery } from '../../core/destination.ts';
import type { Instant } from '../../core/instant.ts';
import type { Row, Stream } from '../../core/stream.ts';
import {
  exempt,
  firstKey,
  isOf,
  isOwed,
  isSeen,
  isUnfilled,
  live,
  markedRows,
  tableOf,
  type Where,
} from './conditions.ts';
import { findMissing, isMissing } from './missing.ts';
import { column, type Part, rows, value } from './part.ts';
import { bringSeen } from './seen.ts';
import { list, nameOf, quote, shapeOf } from './shape.ts';

type Keys = readonly Decoded['key'][];

/** The rows held under these keys, by joined key. */
export function held(part: Part, stream: Stream, keys: Keys): Map<string, Row> {
  const single = stream.key.length === 1;
  if (single && isBeyond(part, stream, keys)) return new Map();
  const select = `select ${list(shapeOf(stream.table).given, 't.')}`;
  const found = single
    ? rows(
        part,
        `${select} from ${tableOf(stream)} t where t.env_id = @env and t.${firstKey(stream)} in (select value from json_each(@keys))`,
        { keys: JSON.stringify(keys.map((key) => key[0])) },
      )
    : rows(part, `${select} ${edgesAmong(stream)}`, { keys: JSON.stringify(keys.toSorted(byFirst)) });
  return new Map(found.map((row) => [joinKey(stream.key.map((name) => String(row[name]))), row]));
}

/** Edges by both ends: each is looked up by its key alone, whatever other index there is by one end. */
function edgesAmong(stream: Stream): string {
  const ends = stream.key.map((name, i) => `t.${quote(name)} = k.value ->> ${i}`).join(' and ');
  return `from json_each(@keys) k cross join ${tableOf(stream)} t on t.env_id = @env and ${ends}`;
}

/** In the order of the table, each of whose pages is then read once. */
function byFirst([a = '']: Decoded['key'], [b = '']: Decoded['key']): number {
  return a < b ? -1 : Number(a > b);
}

/** Whether all keys come after every row, as they mostly do in a first scan: then none has to be looked up. */
function isBeyond(part: Part, stream: Stream, keys: Keys): boolean {
  const sql = `select 1 from ${tableOf(stream)} where env_id = @env
    and ${firstKey(stream)} >= (select min(value) from json_each(@keys)) limit 1`;
  return value(part, sql, { keys: JSON.stringify(keys.map((key) => key[0])) }) === undefined;
}

/** How many rows live; only those with these values in their fields. */
export function countRows(part: Part, stream: Stream, within: Fields = {}): number {
  return value(part, `select count(*) ${liveRows(stream, within)}`, within) as number;
}

export function hasRows(part: Part, stream: Stream): boolean {
  return value(part, `select 1 ${liveRows(stream)} limit 1`) !== undefined;
}

type Fields = Readonly<Record<string, string>>;

/** The live rows `t` with these values in their fields, which are parameters of the same names. */
export function liveRows(stream: Stream, within: Fields = {}): string {
  const filters = Object.keys(within).map((name) => ` and t.${quote(name)} = @${name}`);
  return `from ${tableOf(stream)} t where t.env_id = @env and ${live(stream)}${filters.join('')}`;
}

/** The number of the last mark made. */
export function lastMark(part: Part): number {
  return value(part, 'select last_mark from mirror') as number;
}

/** What the stream owes, by the reach of a feed from `since` on; without what a round of this run has left. */
export function countMarks(
  part: Part,
  stream: Stream,
  { since, run }: { since: Instant | null; run: number },
): Facts['marks'] {
  if (stream.leader === undefined) return { inside: 0, outside: 0 };
  const sql = `select coalesce(sum(coalesce(t.synced_at, '') >= @since), 0) inside,
    coalesce(sum(coalesce(t.synced_at, '') < @since), 0) outside ${markedRows(stream)}`;
  return rows(part, sql, { since: since ?? '', run })[0] as unknown as Facts['marks'];
}

/** Ids looked up at once: no request holds more (`MAX_IDS` of the chunks). */
const OWED_IDS = 1000;

/** The ids that are owed: `… from … where …`, the id under `id`, and the values named. */
const OWED = { candidates, owned: movedOwners, marked: markedBefore, unshown, rejected: rejectedBefore } as const;

/** Ids after the last one asked for, in their order. */
export function owed(part: Part, stream: Stream, query: OwedQuery): Owed {
  if (query.about === 'candidates' || isOfAll(stream, query)) findMissing(part, stream);
  else if (query.about === 'unshown') bringSeen(part, stream);
  const { sql, values } = OWED[query.about](stream, query);
  const ids = column(part, `${sql} and id > @after order by id limit ${OWED_IDS}`, { ...values, after: query.after });
  // Where nothing is owed, counting all rows would be most of what an idle run costs.
  const isWeighed = ids.length > 0 && query.after === '' && (query.about === 'owned' || query.about === 'marked');
  const weighed = isWeighed
    ? { ids: value(part, `select count(*) from (${sql})`, values) as number, rows: countRows(part, stream) }
    : null;
  return { ids: ids as string[], weighed };
}

/** Whether a whole read has to say what it has not shown of edges. */
function isOfAll({ staged }: Stream, { about, mode }: OwedQuery): boolean {
  return about === 'unshown' && mode === 'scan' && staged !== undefined;
}

/** Rows that a sweep, or a snapshot, would take: live and not seen. What a tombstone explains needs no asking (R14). */
function candidates(stream: Stream): Where {
  const key = stream.key[0] as string;
  const ofSnapshot = stream.staged === undefined ? '' : ` and not ${exempt(stream)}`;
  return {
    sql: `select id from (select t.${quote(key)} id from ${tableOf(stream)} t where t.env_id = @env and ${live(stream)}
      and ${isMissing(stream)}${ofSnapshot}) where true`,
  };
}

/** Marked rows that live and were last synced before the bound. */
function markedBefore(stream: Stream, { lastMark, before, run }: OwedQuery): Where {
  return {
    sql: `select id from (select m.id ${markedRows(stream)} and m.number <= @lastMark
      and coalesce(t.synced_at, '') < @before) where true`,
    values: { lastMark, before: before ?? LATEST, run },
  };
}

/**
 * What the reads have not shown of the rows that they were made for (R18): of a typed list, marked rows that have its fields from
 * before; of lineage, columns that would lose their last edge.
 */
function unshown(stream: Stream, query: OwedQuery): Where {
  const { lastMark, run } = query;
  const values = { lastMark, run };
  const marked = `${markedRows(stream)} and m.number <= @lastMark`;
  if (stream.staged === undefined)
    return { sql: `select id from (select m.id ${marked} and not ${isUnfilled(stream)}) where true`, values };
  const first = firstKey(stream);
  const held = `select 1 from ${tableOf(stream)} e where e.env_id = @env and e.${first} = c.id`;
  const columns = isOfAll(stream, query)
    ? `select c.id from ${nameOf(stream.leader?.table)} c where c.env_id = @env and c.deleted_at is null
        and c.id in (select m.key_1 from missing_keys m where ${isOf(stream, 'm')})`
    : `select c.id from (select m.id ${marked}) c where true`;
  return {
    sql: `select id from (${columns} and exists (${held}) and not ${isSeen(stream, 'c.id')}) where true`,
    values,
  };
}

/** Later than any instant. */
const LATEST = '9999';

/** Marked owners that live, or of whose rows one lives: of any other there is nothing to ask. */
function movedOwners(stream: Stream, { lastMark, run }: OwedQuery): Where {
  const [owner] = stream.owners;
  if (owner === undefined) throw new Error(`${stream.name} has no owner`);
  const lives = `select 1 from ${nameOf(owner.table)} o where o.env_id = m.env_id and o.id = m.id and o.deleted_at is null`;
  const owns = `select 1 from ${tableOf(stream)} t where t.env_id = m.env_id and t.${quote(owner.by)} = m.id and ${live(stream)}`;
  return {
    sql: `select m.id from marks m where ${isOf(stream, 'm')} and ${isOwed('m')} and m.number <= @lastMark
      and (exists (${lives}) or exists (${owns}))`,
    values: { lastMark, run },
  };
}

/** Rejected rows that the round has not met so far. */
function rejectedBefore(stream: Stream, { run }: OwedQuery): Where {
  return {
    sql: `select id from (select r.row_key id ${rejectedRows(stream)} and ${HAS_KEY} and r.run_id < @run) where true`,
    values: { run },
  };
}

/** Whether any stands rejected that can be asked for by id (R20). */
export function hasRejected(part: Part, stream: Stream): boolean {
  return value(part, `select 1 ${rejectedRows(stream)} and ${HAS_KEY} limit 1`) !== undefined;
}

/** Whether any stands rejected that cannot (R20). */
export function hasKeyless(part: Part, stream: Stream): boolean {
  return value(part, `select 1 ${rejectedRows(stream)} and not ${HAS_KEY} limit 1`) !== undefined;
}

/** Rows that stand rejected (R20). */
export function countRejected(part: Part, stream: Stream): number {
  return value(part, `select count(*) ${rejectedRows(stream)}`) as number;
}

function rejectedRows(stream: Stream): string {
  return `from rejected_rows r where ${isOf(stream, 'r')}`;
}

/** The payload stands for a key that is of no use. */
const HAS_KEY = '(r.row_key <> r.payload)';

export function dueTests(part: Part, run: number, most: number): DueTest[] {
  return rows(part, DUE_TESTS, { run, most }) as unknown as DueTest[];
}

/**
 * A test with news is one never read, with a latest execution that changed since, or with rows that stand rejected (R20). Nulls
 * come first: what did not fail last time before what did, what was never read before what was (R22). `>= ''` has SQLite go along
 * the key, as all that is looked up beside the tests lies in its order.
 */
const DUE_TESTS = `
  select d.*, (select mirrored_at from mirror) mirroredAt,
    (select min(e.start_time) from test_executions e where e.env_id = @env and e.test_id = d.id) knownFrom
  from (
    select t.id, r.read_at readAt, f.page_limit pageLimit, t.id in (
      select payload ->> 'test_id' from rejected_rows
      where env_id = @env and stream = 'test_executions' and run_id < @run and payload ->> 'test_id' is not null) hasRejected
    from tests t
    left join test_readings r on r.env_id = t.env_id and r.test_id = t.id
    left join history_failures f on f.env_id = t.env_id and f.test_id = t.id
    where t.env_id = @env and t.id >= '' and t.deleted_at is null and coalesce(f.run_id, 0) < @run
      and (r.test_id is null or hasRejected or exists (
        select 1 from latest_test_executions l
        where l.env_id = t.env_id and l.test_id = t.id and l.mirrored_at > r.mirrored_at))
    order by f.run_id, r.read_at, t.id limit @most
  ) d`;
