import type { CheckpointOf, Round } from '../../core/checkpoint.ts';
import type { ExpectedRows } from '../../core/ports/dry-run-mirror.ts';
import type { PageRequest, Query } from '../../core/ports/source.ts';
import { parentsOf, type Stream } from '../../core/stream.ts';
import { addDays, type Instant } from '../../core/time/instant.ts';
import { type SqlCondition, tableOf, whereHolds, whereLive } from '../sql/conditions.ts';
import { type MirrorScope, rows, type SqlStatements, value } from '../sql/statements.ts';
import { nameOf, quote, tableSqlOf } from '../sql/tables.ts';

/** One read, and what is known of its environment. */
interface ExpectedRead extends MirrorScope {
  readonly stream: Stream;
  readonly query: Query;
  /** As the last run left them. */
  readonly stored: CheckpointOf;
  /** The server time of the run (R1). */
  readonly now: Instant | null;
}

/** How many rows a read still has to return, from the requested page on (see `DryRunMirror`). */
export function* expectedRows(read: ExpectedRead, request: PageRequest): SqlStatements<ExpectedRows> {
  if (read.stream.method === 'window') return yield* history(read, request);
  const expected = yield* rowsOf(read);
  if (request.cursor === null) return expected;
  return { ...expected, rows: Math.max(0, expected.rows - (yield* rowsBefore(read, expected.hidden))) };
}

function* rowsOf(read: ExpectedRead): SqlStatements<ExpectedRows & { readonly hidden: number }> {
  const { limit: _, ...variant } = read.query;
  const shown = yield* count(read, shownBy(read));
  const isWhole = Object.keys(variant).every((name) => read.stream.scanQueries.some((each) => name in each));
  if (!isWhole) {
    // Ids that are not returned may take pages of their own.
    const mayHide = (ids: Query[string]) =>
      Array.isArray(ids) && ids.length > shown && ids.length > Number(read.query['limit']);
    return { rows: shown, atLeast: Object.values(variant).some(mayHide), hidden: 0 };
  }
  const hidden = yield* hiddenRows(read, JSON.stringify(variant));
  // A typed list has as many rows as the assets say, whether it was read or not.
  const { scanEndedCycle, watermark } = read.stored(decider(read.stream).name);
  const wasReadWhole = scanEndedCycle !== null || watermark !== null;
  return {
    rows: shown + (yield* rejected(read)) + hidden.rows,
    atLeast: !wasReadWhole || hidden.atLeast,
    hidden: hidden.rows,
  };
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
  const { retention } = stream;
  // The service returns only newer rows: older ones leave the list by themselves.
  const retained = retention === undefined || read.now === null ? '' : ` and t.${quote(retention.field)} >= @opens`;
  const variant = ` and ${whereVariant(stream, query)}${retained}`;
  const [field, parameter] =
    parent !== undefined && parent.parameter in query
      ? [parent.by, parent.parameter]
      : [stream.key[0], stream.idsParameter];
  const ids = parameter && query[parameter];
  if (ids === undefined) return { sql: `${shown}${variant}` };
  const listed = `t.${quote(field)} in (select value from json_each(@ids))`;
  return { sql: `${shown}${variant} and ${listed}`, values: { ids: JSON.stringify(ids) } };
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
  const ofParents = parentsOf(stream).map(
    ({ by, table }) => `exists (select 1 from ${nameOf(table)} o
      where o.env_id = t.env_id and o.id = t.${quote(by)} and o.disabled = 1)`,
  );
  const isOwn = tableSqlOf(stream.table).columns.includes('disabled');
  const whereDisabled = isOwn ? 't.disabled = 1' : ofParents.join(' or ');
  return query['disabled'] === 'true' ? `(${whereDisabled})` : `not (${whereDisabled})`;
}

function* count(read: ExpectedRead, { sql, values }: SqlCondition): SqlStatements<number> {
  const { now, stream } = read;
  const text = `select count(*) from ${tableOf(stream)} t where t.env_id = @env and ${sql}`;
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

function* rowsBefore(expectedRead: ExpectedRead, hidden: number): SqlStatements<number> {
  const { stream, stored, query } = expectedRead;
  const { round: unfinished, waitingScan } = stored(stream.name);
  const round = unfinished ?? waitingScan;
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
  for (const each of readsBefore(expectedRead, round)) {
    const { rows: count } = yield* rowsOf({ ...expectedRead, query: each });
    before += Math.max(1, Math.ceil(count / Number(each['limit'])));
  }
  return Math.max(kept, Math.max(1, round.pages - before) * Number(query['limit']));
}

/** The queries of the round's reads before this one. Lookups by id are not known. */
function readsBefore({ stream, query }: ExpectedRead, round: Round): Query[] {
  const { limit = 1, deleted_since: since } = query;
  if (round.mode === 'feed') return since === undefined ? [] : [{ synced_since: since, limit }];
  if (round.mode !== 'scan' && round.mode !== 'snapshot') return [];
  const left = round.steps.filter((readStep) => readStep.do === 'list' && readStep.as !== 'tombstones').length;
  return stream.scanQueries.slice(0, stream.scanQueries.length - left).map((variant) => ({ ...variant, limit }));
}

/** The known rows of a test's history: any number if it was never read, at least a page if it was interrupted. */
function* history(expectedRead: ExpectedRead, { path, cursor, query }: PageRequest): SqlStatements<ExpectedRows> {
  const [, testId] = path;
  const sql = `select count(*) from test_executions where env_id = @env and test_id = @testId and start_time >= @from`;
  const known = Number(yield* value(expectedRead, sql, { testId, from: query['start_time_from'] }));
  const reading = 'select 1 from test_readings where env_id = @env and test_id = @testId';
  const read = yield* value(expectedRead, reading, { testId });
  return { rows: known - (cursor === null ? 0 : Number(query['limit'])), atLeast: read === undefined };
}
