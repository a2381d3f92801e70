import type { Checkpoint, CheckpointOf, Round } from '../../core/checkpoint.ts';
import type { PageRequest, Query } from '../../core/ports/source.ts';
import type { ExpectedRows } from '../../core/ports/source-expectations.ts';
import { parentsOf, type Stream } from '../../core/stream.ts';
import { addDays, type Instant } from '../../core/time/instant.ts';
import { type SqlCondition, tableOf, whereHolds, whereLive } from '../sql/conditions.ts';
import { type MirrorScope, rows, type SqlStatements, value } from '../sql/statements.ts';
import { nameOf, quote, tableSqlOf } from '../sql/tables.ts';
import { perform, sqliteScope } from './driver.ts';
import type { MirrorFile } from './open.ts';

/** One read, and what is known of its environment. */
interface ExpectedRead extends MirrorScope {
  readonly stream: Stream;
  readonly query: Query;
  /** As the last run left them. */
  readonly stored: CheckpointOf;
  /** The server time of the run (R1). */
  readonly now: Instant | null;
}

/** How many rows a read still has to return (see `SourceExpectations`). */
export function expectedRows(
  mirror: MirrorFile,
  envId: string,
  { stream, request, stored, now }: { stream: Stream; request: PageRequest; stored: CheckpointOf; now: Instant | null },
): ExpectedRows {
  const expectedRead: ExpectedRead = { ...sqliteScope(mirror, envId), stream, query: request.query, stored, now };
  return perform(mirror.prepare, rowsFrom(expectedRead, request));
}

/** The rows from the requested page on. */
function* rowsFrom(read: ExpectedRead, request: PageRequest): SqlStatements<ExpectedRows> {
  if (read.stream.method === 'window') return yield* history(read, request);
  const expected = yield* rowsOf(read);
  if (request.cursor === null) return expected;
  return { ...expected, rows: Math.max(0, expected.rows - (yield* rowsBefore(read, expected.hidden))) };
}

function* rowsOf(read: ExpectedRead): SqlStatements<ExpectedRows & { readonly hidden: number }> {
  const { limit: _, ...variant } = read.query;
  const shown = yield* count(read, shownBy(read));
  const isWhole = Object.keys(variant).every((name) => read.stream.scanQueries.some((each) => name in each));
  if (!isWhole) return { rows: shown, atLeast: mayHide(read.query, shown), hidden: 0 };
  const hidden = yield* hiddenRows(read, JSON.stringify(variant));
  return {
    rows: shown + (yield* rejected(read)) + hidden.rows,
    atLeast: !wasReadWhole(read) || hidden.atLeast,
    hidden: hidden.rows,
  };
}

/** Whether ids that are not returned may take pages of their own. */
function mayHide({ limit, ...asked }: Query, shown: number): boolean {
  return Object.values(asked).some((ids) => Array.isArray(ids) && ids.length > shown && ids.length > Number(limit));
}

/** A typed list has as many rows as the assets say, whether it was read or not. */
function wasReadWhole({ stream, stored }: ExpectedRead): boolean {
  const { scanEndedCycle, watermark } = stored(decider(stream).name);
  return scanEndedCycle !== null || watermark !== null;
}

/** The stream that decides which rows exist. */
function decider(stream: Stream): Stream {
  const isTyped = stream.method === 'marked' && stream.subtype !== undefined;
  return isTyped ? { ...stream, name: stream.dependencies[0] } : stream;
}

/** The rows `t` that match a query, as far as the mirror has them. */
function shownBy(read: ExpectedRead): SqlCondition {
  const { stream, query } = read;
  const since = query['synced_since'];
  const deletedSince = query['deleted_since'];
  const { parent } = stream;
  if (deletedSince !== undefined)
    return { sql: `t.deletion = 'tombstone' and t.deleted_at >= @since`, values: { since: deletedSince } };
  const shown = `${whereLive(stream)} and not exists (select 1 from held_removals h where ${whereHolds(decider(stream))})${whereParentShown(stream)}`;
  if (since !== undefined) return { sql: `${shown} and ${whereSyncedSince(stream)}`, values: { since } };
  const variant = ` and ${whereVariant(stream, query)}${whereRetained(read)}`;
  const ids = stream.idsParameter && query[stream.idsParameter];
  if (ids !== undefined)
    return { sql: `${shown}${variant} and ${whereOneOf(stream.key[0])}`, values: { ids: json(ids) } };
  const parentIds = parent && query[parent.parameter];
  if (parent !== undefined && parentIds !== undefined)
    return { sql: `${shown}${variant} and ${whereOneOf(parent.by)}`, values: { ids: json(parentIds) } };
  return { sql: `${shown}${variant}` };
}

/** Rows whose parent is held back are not returned either. */
function whereParentShown(stream: Stream): string {
  if (stream.staged === undefined) return '';
  const held = parentsOf(stream).map(
    ({ by, table }) => ` and not exists (select 1 from held_removals o
      where o.env_id = t.env_id and o.stream = '${tableSqlOf(table).name}' and o.key_1 = t.${quote(by)})`,
  );
  return held.join('');
}

/** The feeds of lineage use the time of the downstream column. */
function whereSyncedSince({ key, staged, parentTable }: Stream): string {
  if (staged === undefined || parentTable === undefined) return 't.synced_at >= @since';
  return `t.${quote(key[0])} in
    (select l.id from ${nameOf(parentTable.table)} l where l.env_id = @env and l.deleted_at is null and l.synced_at >= @since)`;
}

/** Enabled and disabled tests have separate lists, and so do the rows that belong to them. */
function whereVariant(stream: Stream, query: Query): string {
  if (stream.scanQueries.length === 1) return 'true';
  const whereDisabled = tableSqlOf(stream.table).columns.includes('disabled')
    ? 't.disabled = 1'
    : parentsOf(stream)
        .map(({ by, table }) => {
          const whereParent = `o.env_id = t.env_id and o.id = t.${quote(by)}`;
          return `exists (select 1 from ${nameOf(table)} o where ${whereParent} and o.disabled = 1)`;
        })
        .join(' or ');
  return query['disabled'] === 'true' ? `(${whereDisabled})` : `not (${whereDisabled})`;
}

/** The condition that the service still returns a row: with a retention, older rows leave the list by themselves. */
function whereRetained({ stream: { retention }, now }: ExpectedRead): string {
  return retention === undefined || now === null ? '' : ` and t.${quote(retention.field)} >= @opens`;
}

function whereOneOf(field: string): string {
  return `t.${quote(field)} in (select value from json_each(@ids))`;
}

function json(ids: Query[string]): string {
  return JSON.stringify(ids);
}

function* count(read: ExpectedRead, { sql, values }: SqlCondition): SqlStatements<number> {
  const text = `select count(*) from ${tableOf(read.stream)} t where t.env_id = @env and ${sql}`;
  const { now, stream } = read;
  const opens = now === null ? null : addDays(now, -(stream.retention?.days ?? 0));
  return Number(yield* value(read, text, { ...values, opens }));
}

/** Rejected rows, which the source returns too. One that the mirror has in an earlier version counts once. */
function* rejected(read: ExpectedRead): SqlStatements<number> {
  const { stream, query } = read;
  if (Object.keys(query).some((name) => name !== 'limit')) return 0;
  const single = stream.key.length === 1;
  const whereHeld = stream.key
    .map((name, i) => `t.${quote(name)} = r.row_key${single ? '' : ` ->> ${i}`}`)
    .join(' and ');
  const sql = `select count(*) from rejected_rows r where r.env_id = @env and r.stream = '${stream.name}'
    and not exists (select 1 from ${tableOf(stream)} t where t.env_id = r.env_id and ${whereHeld})`;
  return Number(yield* value(read, sql));
}

/**
 * Rows that the list has but does not return, as far as its pages prove them: all pages but the last were full before
 * the service removed these rows. Smaller pages may prove more.
 */
function* hiddenRows(read: ExpectedRead, variant: string): SqlStatements<ExpectedRows> {
  const sql = `select max(0, (pages - 1) * page_size + 1 - rows) rows, page_size > @limit atLeast from main.list_lengths
    where env_id = @env and stream = '${read.stream.name}' and variant = @variant`;
  const [known] = yield* rows(read, sql, { variant, limit: read.query['limit'] });
  return { rows: Number(known?.['rows'] ?? 0), atLeast: known?.['atLeast'] === 1 };
}

/** Rows on the pages before. */
function* rowsBefore(expectedRead: ExpectedRead, hidden: number): SqlStatements<number> {
  const { stream, stored, query } = expectedRead;
  const round = currentRound(stored(stream.name));
  if (round?.read == null) return 0;
  const { number } = round.read;
  const seen = `select coalesce(sum(json_array_length(keys)), 0) from main.seen_pages
    where env_id = @env and stream = '${stream.name}' and read_number = @number`;
  // The first scan of a staged stream stages its rows and records no keys.
  const staged =
    stream.staged === undefined
      ? '0'
      : `(select count(*) from main.${nameOf(stream.staged)} where env_id = @env and read_number = @number)`;
  const kept = Number(yield* value(expectedRead, `select max((${seen}), ${staged})`, { number }));
  if (kept > 0 && hidden === 0) return kept;
  // A feed records no keys, and hidden rows have none, so the pages of the round that earlier reads did not take belong
  // to this read.
  let before = 0;
  for (const read of readsBefore(expectedRead)) before += yield* pagesOf({ ...expectedRead, query: read });
  return Math.max(kept, Math.max(1, round.pages - before) * Number(query['limit']));
}

/** The round that the next run continues. */
function currentRound({ round, waitingScan }: Checkpoint): Round | null {
  return round ?? waitingScan;
}

/** The queries of the round's reads before this one. Lookups by id are not known. */
function readsBefore({ stream, stored, query }: ExpectedRead): Query[] {
  const { limit = 1, deleted_since: since } = query;
  const round = currentRound(stored(stream.name));
  if (round?.mode === 'feed') return since === undefined ? [] : [{ synced_since: since, limit }];
  if (round?.mode !== 'scan' && round?.mode !== 'snapshot') return [];
  const left = round.steps.filter((readStep) => readStep.do === 'list' && readStep.as !== 'tombstones').length;
  return stream.scanQueries.slice(0, stream.scanQueries.length - left).map((variant) => ({ ...variant, limit }));
}

function* pagesOf(read: ExpectedRead): SqlStatements<number> {
  const { rows: count } = yield* rowsOf(read);
  return Math.max(1, Math.ceil(count / Number(read.query['limit'])));
}

/** The known rows of a test's history: any number if it was never read, at least a page if it was interrupted. */
function* history(expectedRead: ExpectedRead, { path, cursor, query }: PageRequest): SqlStatements<ExpectedRows> {
  const [, testId] = path;
  const sql = `select count(*) from test_executions where env_id = @env and test_id = @testId and start_time >= @from`;
  const known = Number(yield* value(expectedRead, sql, { testId, from: query['start_time_from'] }));
  const read = yield* value(expectedRead, 'select 1 from test_readings where env_id = @env and test_id = @testId', {
    testId,
  });
  return { rows: known - (cursor === null ? 0 : Number(query['limit'])), atLeast: read === undefined };
}
