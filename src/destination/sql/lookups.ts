import { loadCheckpoints } from '../../../state/checkpoint-store.ts';
import type { ExistingRow } from '../../core/decide/difference.ts';
import { markableStreams } from '../../core/decide/marks.ts';
import { type DecodedRow, joinKey } from '../../core/decode/decode.ts';
import type {
  DueTest,
  DueTestsQuery,
  FactsQuery,
  OutstandingCounts,
  ResumePoint,
  RoundFacts,
} from '../../core/ports/destination.ts';
import type { RowKeys } from '../../core/ports/mirror-reader.ts';
import type { Row, Stream } from '../../core/stream.ts';
import type { Instant } from '../../core/time/instant.ts';
import {
  firstKey,
  fromMarked,
  fromRejected,
  tableOf,
  WHERE_HAS_KEY,
  WHERE_UNSETTLED,
  whereHolds,
  whereLive,
  whereStream,
} from './conditions.ts';
import { type MirrorScope, rows, type SqlStatements, value } from './statements.ts';
import { list, nameOf, quote, tableSqlOf } from './tables.ts';

type LookupKeys = readonly DecodedRow['key'][];

/**
 * The mirror's rows under these keys, by joined key. A later commit may rely on them, because an environment has one
 * writer (R26) and no two streams write the same row at the same time.
 */
export function* existingRows(scope: MirrorScope, stream: Stream, keys: LookupKeys): SqlStatements<Map<string, Row>> {
  if (keys.length === 0) return new Map();
  const single = stream.key.length === 1;
  if (single && (yield* isBeyond(scope, stream, keys))) return new Map();
  const ids = scope.dialect.texts('@keys');
  // Each edge is looked up by its whole key, although one end has an index.
  const ends = stream.key.map((name, i) => `t.${quote(name)} = k.value ->> ${i}`).join(' and ');
  const among = single
    ? `from ${tableOf(stream)} t where t.env_id = @env and t.${firstKey(stream)} in (select value from ${ids})`
    : `from ${scope.dialect.arrays('@keys')} k cross join ${tableOf(stream)} t where t.env_id = @env and ${ends}`;
  const sql = `select ${list(tableSqlOf(stream.table).given, 't.')} ${among}`;
  // Edges come in the order of the table, so each of its pages is read once.
  const wanted = single
    ? keys.map((key) => key[0])
    : keys.toSorted(([a = ''], [b = '']) => (a < b ? -1 : Number(a > b)));
  const found = yield* rows(scope, sql, { keys: JSON.stringify(wanted) });
  return new Map(found.map((row) => [joinKey(stream.key.map((name) => String(row[name]))), row]));
}

/** Whether all keys come after the table's last row, as in a first scan: then no row has to be looked up. */
function* isBeyond(scope: MirrorScope, stream: Stream, keys: LookupKeys): SqlStatements<boolean> {
  const sql = `select 1 from ${tableOf(stream)} where env_id = @env
    and ${firstKey(stream)} >= (select min(value) from ${scope.dialect.texts('@keys')}) limit 1`;
  const one = yield* value(scope, sql, { keys: JSON.stringify(keys.map((key) => key[0])) });
  return one === undefined;
}

export function* resumePoint({ envId }: MirrorScope, stream: Stream): SqlStatements<ResumePoint> {
  const checkpointOf = yield* loadCheckpoints(envId);
  return { checkpoint: checkpointOf(stream.name), markableStreams: markableStreams(stream, checkpointOf) };
}

type MarksQuery = FactsQuery & { readonly run: number };

export function* facts(scope: MirrorScope, stream: Stream, about: MarksQuery): SqlStatements<RoundFacts> {
  const [parent = ''] = stream.dependencies;
  const scannedParent = `from sync_checkpoints c where c.env_id = @env and c.stream = '${parent}' and c.scan_ended_cycle is not null`;
  const sql = `select exists (select 1 ${liveRows(stream)}) has_rows,
    exists (select 1 ${fromRejected(stream)} and ${WHERE_HAS_KEY}) has_rejected,
    exists (select 1 from held_removals h where ${whereStream(stream, 'h')}) has_held, (${LAST_MARK}) last_mark,
    exists (select 1 ${scannedParent}) is_parent_scanned, m.* from (${selectMarks(stream, about)}) m`;
  const [found] = yield* rows(scope, sql, { ...about });
  return {
    hasRows: found?.['has_rows'] === 1,
    marks: marksOf(found),
    hasRejected: found?.['has_rejected'] === 1,
    hasHeld: found?.['has_held'] === 1,
    lastMark: Number(found?.['last_mark'] ?? 0),
    isParentScanned: found?.['is_parent_scanned'] === 1,
    histories: yield* aboutHistories(scope, stream),
  };
}

function* aboutHistories(scope: MirrorScope, { method }: Stream): SqlStatements<RoundFacts['histories']> {
  if (method !== 'window') return { count: 0, latestReadAt: null };
  const sql = `select count(*) "count", (select c.watermark from sync_checkpoints c
      where c.env_id = @env and c.stream = 'latest_test_executions') "latestReadAt"
    from tests t where t.env_id = @env and t.deleted_at is null`;
  const [found] = yield* rows(scope, sql);
  return { count: Number(found?.['count']), latestReadAt: (found?.['latestReadAt'] ?? null) as Instant | null };
}

export function* countTable(scope: MirrorScope, stream: Stream, within: FieldNames = {}): SqlStatements<number> {
  return Number(yield* value(scope, `select count(*) ${liveRows(stream, within)}`, within));
}

type FieldNames = Readonly<Record<string, string>>;

/** The live rows `t` with these values in their fields; each value is a parameter with the field's name. */
export function liveRows(stream: Stream, within: FieldNames = {}): string {
  const filters = Object.keys(within).map((name) => ` and t.${quote(name)} = @${name}`);
  return `from ${tableOf(stream)} t where t.env_id = @env and ${whereLive(stream)}${filters.join('')}`;
}

/** The number of the latest mark in the environment; 0 before the first. */
export function* lastMark(scope: MirrorScope): SqlStatements<number> {
  return Number((yield* value(scope, LAST_MARK)) ?? 0);
}

const LAST_MARK = 'select last_mark from mirror_environments where env_id = @env';

/** The marks that a round has to clear, by whether a feed from `since` reaches the row; none left by this run. */
export function* countMarks(scope: MirrorScope, stream: Stream, about: MarksQuery): SqlStatements<RoundFacts['marks']> {
  const [found] = yield* rows(scope, selectMarks(stream, about), { ...about });
  return marksOf(found);
}

function marksOf(found: Row | undefined): RoundFacts['marks'] {
  return { inside: Number(found?.['inside']), outside: Number(found?.['outside']), isDue: found?.['is_due'] === 1 };
}

function selectMarks(stream: Stream, { since }: Pick<FactsQuery, 'since'>): string {
  if (stream.parentTable === undefined) return 'select 0 inside, 0 outside, 0 is_due';
  const whereInside = since === null ? 'true' : 't.synced_at >= @since';
  const sum = (whenInside: 0 | 1): string =>
    `coalesce(sum(case when ${whereInside} then ${whenInside} else ${1 - whenInside} end), 0)`;
  const whereDue = `m.left_by_run is null or not ${WHERE_UNSETTLED}`;
  return `select ${sum(1)} inside, ${sum(0)} outside, coalesce(max(case when ${whereDue} then 1 else 0 end), 0) is_due
    ${fromMarked(stream)}`;
}

/** How many removals are held back, and how many rows are rejected (R14, R20). */
export function* outstandingCounts(scope: MirrorScope, stream: Stream): SqlStatements<OutstandingCounts> {
  const held = `select count(*) from held_removals h cross join ${tableOf(stream)} t
    where t.env_id = @env and ${whereHolds(stream)} and ${whereLive(stream)}`;
  const sql = `select (${held}) held_removals, (select count(*) ${fromRejected(stream)}) rejected`;
  const [found = {}] = yield* rows(scope, sql);
  return { heldRemovals: Number(found['held_removals']), rejected: Number(found['rejected']) };
}

export function* dueTests(scope: MirrorScope, { limit, run, fresh }: DueTestsQuery): SqlStatements<DueTest[]> {
  const period = { from: fresh?.from ?? null, until: fresh?.until ?? null };
  const due = yield* rows(scope, dueTestsSql(scope), { run, limit, ...period });
  return due.map((row) => ({ ...row, mirroredAt: row['mirroredAt'] ?? '' }) as unknown as DueTest);
}

/**
 * A test is due if it was never read, if its latest execution has changed since, by age (R13), or if it has rejected
 * rows (R20). Tests that did not fail last time come first, and among them those never read (R22). `>= ''` makes SQLite
 * follow the key, which is the order of the tables joined to it.
 */
function dueTestsSql({ dialect }: MirrorScope): string {
  const test = dialect.field('payload', 'test_id');
  const hasRejected = `t.id in (select ${test} from rejected_rows
    where env_id = @env and stream = 'test_executions' and run_id < @run and ${test} is not null)`;
  return `
  select d.*, (select mirrored_at from mirror_environments where env_id = @env) "mirroredAt",
    (select min(e.start_time) from test_executions e where e.env_id = @env and e.test_id = d.id) "knownFrom"
  from (
    select t.id, r.read_at "readAt", f.page_limit "pageLimit", ${hasRejected} "hasRejected",
      f.run_id is not null "hasFailed"
    from tests t
    left join test_readings r on r.env_id = t.env_id and r.test_id = t.id
    left join history_failures f on f.env_id = t.env_id and f.test_id = t.id
    where t.env_id = @env and t.id >= '' and t.deleted_at is null and coalesce(f.run_id, 0) < @run
      and (r.test_id is null or r.read_at not between @from and @until or ${hasRejected} or exists (
        select 1 from latest_test_executions l
        where l.env_id = @env and l.test_id = t.id and l.mirrored_at > r.mirrored_at))
    order by f.run_id nulls first, r.read_at nulls first, t.id limit @limit
  ) d`;
}

/** The mirror's rows under these keys with their child rows, by joined key. */
export function* existingWithChildren(
  scope: MirrorScope,
  stream: Stream,
  keys: RowKeys,
): SqlStatements<Map<string, ExistingRow>> {
  const found = yield* existingRows(scope, stream, keys);
  const [parentKey] = stream.key;
  const ids = JSON.stringify(keys.map(([id]) => id));
  const byTable: Map<string, Row[]>[] = [];
  for (const { table } of stream.childTables ?? []) {
    const sql = `select ${list(tableSqlOf(table).given)} from ${nameOf(table)}
      where env_id = @env and ${quote(parentKey)} in (select value from ${scope.dialect.texts('@ids')})`;
    byTable.push(Map.groupBy(yield* rows(scope, sql, { ids }), (row) => String(row[parentKey])));
  }
  const all = new Map<string, ExistingRow>();
  for (const key of keys) {
    const joined = joinKey(key);
    const row = found.get(joined);
    const parts = byTable.map((byParent) => byParent.get(joined) ?? []);
    if (row !== undefined) all.set(joined, { row, parts });
    else if (parts.flat().length > 0) all.set(joined, { row: { [parentKey]: joined }, parts, partial: true });
  }
  return all;
}
