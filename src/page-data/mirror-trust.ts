import { WELL_ENDED } from '../core/ports/state-store.ts';
import { EPOCH } from '../core/time/instant.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import { fromHeldRows, liveRowsIn } from './live-rows.ts';
import type { EnvironmentTrust, MirrorTrust, QuotaTrust, RunTrust, StreamTrust, VerifyTrust } from './page-data.ts';
import { numberOf, type PageReads, textOf } from './page-scope.ts';
import { type SqlRow, selectValues } from './sql.ts';

export interface TrustReader {
  /** The visible environments; null for all. */
  readonly environments: ReadonlySet<string> | null;
  /** The scopes that the reader lacks. */
  readonly deniedScopes: readonly string[];
  /** Whether the reader is restricted to some assets. Then the answer reveals nothing that depends on other assets. */
  readonly seesSomeAssets: boolean;
}

/** The state of the mirror, from which a reader decides whether to trust it. */
export function mirrorTrust(reads: PageReads, reader: TrustReader, streams: readonly CatalogueEntry[]): MirrorTrust {
  const { environments: visible, deniedScopes } = reader;
  const seen = streams.filter(({ serve }) => serve === false || !deniedScopes.includes(serve.scope));
  const environments = reads
    .rows({ sql: 'select id, name, cron, missing_since from environments order by name, id', values: {} })
    .filter(({ id }) => visible?.has(String(id)) ?? true)
    .map((row) => environmentTrust(reads, reader, { row, streams: seen }));
  const limitedTo = limitOf(reader);
  const ids = environments.map(({ env_id }) => env_id);
  return {
    now: clockOf(reads, ids),
    limited_to: limitedTo,
    last_run: readLastRun(reads, limitedTo, { ids, streams: seen }),
    last_verify: limitedTo === null ? readLastVerify(reads) : null,
    quota: limitedTo === null ? readQuota(reads) : null,
    environments,
  };
}

function limitOf({ environments, deniedScopes, seesSomeAssets }: TrustReader): MirrorTrust['limited_to'] {
  if (seesSomeAssets) return 'assets';
  return environments === null && deniedScopes.length === 0 ? null : 'streams';
}

function clockOf(reads: PageReads, ids: readonly string[]): string {
  const [row] = reads.rows({
    sql: `select max(mirrored_at) as now from mirror_environments where env_id in ${selectValues('ids')}`,
    values: { ids: JSON.stringify(ids) },
  });
  return textOf(row?.['now']) ?? EPOCH;
}

const RUN = `id as run, status, started_at, ended_at, requests, error from sync_runs`;

interface VisibleStreams {
  readonly ids: readonly string[];
  readonly streams: readonly CatalogueEntry[];
}

function readLastRun(reads: PageReads, limitedTo: MirrorTrust['limited_to'], visible: VisibleStreams): RunTrust | null {
  // How a stream was read depends on all of its rows, also hidden ones.
  if (limitedTo === 'assets') return null;
  return limitedTo === null ? lastRun(reads) : lastRunOf(reads, visible);
}

function lastRun(reads: PageReads): RunTrust | null {
  const [row] = reads.rows({ sql: `select ${RUN} where command = 'sync' order by id desc limit 1`, values: {} });
  return row === undefined ? null : runTrust(row);
}

/**
 * The last sync that read one of these streams, derived from these streams alone: the status, times, requests and error
 * of the run cover other streams as well. It is `done` by the same rule as a run (R9, R20).
 */
function lastRunOf(reads: PageReads, { ids, streams }: VisibleStreams): RunTrust | null {
  const [row] = reads.rows({
    sql: `select s.run_id as run, min(s.started_at) as started_at, max(s.ended_at) as ended_at,
        max(s.status not in ${selectValues('well')} or exists (
          select 1 from rejected_rows r where r.env_id = s.env_id and r.stream = s.stream)) as troubled
      from sync_stream_runs s
      where s.env_id in ${selectValues('ids')} and s.stream in ${selectValues('streams')} and s.run_id = (
        select max((select max(s.run_id) from sync_stream_runs s join sync_runs r on r.id = s.run_id and r.command = 'sync'
          where s.env_id = e.value and s.stream = n.value))
        from json_each(@ids) e, json_each(@streams) n)
      group by s.run_id`,
    values: {
      ids: JSON.stringify(ids),
      streams: JSON.stringify(streams.map(({ name }) => name)),
      well: JSON.stringify(WELL_ENDED),
    },
  });
  if (row === undefined) return null;
  const status = row['troubled'] === 1 ? 'problems' : 'done';
  return { ...runTrust(row), status, requests: null, error: null };
}

const runTrust = (row: SqlRow): RunTrust => ({
  run: Number(row['run']),
  status: String(row['status']),
  started_at: String(row['started_at']),
  ended_at: textOf(row['ended_at']),
  requests: Number(row['requests']),
  error: textOf(row['error']),
});

function readLastVerify(reads: PageReads): VerifyTrust | null {
  const [row] = reads.rows({
    sql: 'select ended_at, equal, difference_count from verifications order by id desc limit 1',
    values: {},
  });
  if (row === undefined) return null;
  return {
    ended_at: String(row['ended_at']),
    equal: row['equal'] === 1,
    difference_count: Number(row['difference_count']),
  };
}

function readQuota(reads: PageReads): QuotaTrust | null {
  const [row] = reads.rows({
    sql: `select quota_limit, quota_window_seconds, quota_remaining, quota_noted_at from mirror
      where quota_limit is not null and quota_window_seconds is not null and quota_remaining is not null
        and quota_noted_at is not null`,
    values: {},
  });
  if (row === undefined) return null;
  return {
    limit: Number(row['quota_limit']),
    window_seconds: Number(row['quota_window_seconds']),
    remaining: Number(row['quota_remaining']),
    noted_at: String(row['quota_noted_at']),
  };
}

function environmentTrust(
  reads: PageReads,
  reader: TrustReader,
  { row, streams }: { readonly row: SqlRow; readonly streams: readonly CatalogueEntry[] },
): EnvironmentTrust {
  const env = String(row['id']);
  const missingSince = textOf(row['missing_since']);
  return {
    env_id: env,
    name: String(row['name']),
    cron: textOf(row['cron']),
    missing_since: missingSince,
    has_views: missingSince === null,
    denied_scopes: reader.deniedScopes,
    pruned: prunedIn(reads, env),
    streams: streams.flatMap((stream) => streamTrust(reads, reader, { env, stream }) ?? []),
  };
}

/** Thinned scores are left out: every day still has one. */
function prunedIn(reads: PageReads, env: string): EnvironmentTrust['pruned'] {
  const sql = `select history, complete_before as before from pruned_history
    where env_id = @env and action = 'delete' and complete_before is not null and row_count > 0 order by history`;
  const rows = reads.rows({ sql, values: { env } });
  return rows.map(({ history, before }) => ({ history: String(history), before: String(before) }));
}

interface StreamOfEnvironment {
  readonly env: string;
  readonly stream: CatalogueEntry;
}

/** Null for an optional stream that was never read. */
function streamTrust(
  reads: PageReads,
  { seesSomeAssets }: TrustReader,
  { env, stream }: StreamOfEnvironment,
): StreamTrust | null {
  const last = lastStreamRun(reads, { env, stream });
  const details = seesSomeAssets ? HIDDEN_DETAILS : { ...lastReadOf(last), ...countsOf(reads, { env, stream }) };
  if (stream.optional && last === undefined && !details.rows) return null;
  return { stream: stream.name, complete_at: completeAt(reads, { env, stream }), ...details };
}

const lastReadOf = (last: SqlRow | undefined) => ({
  ended_at: textOf(last?.['ended_at']),
  mode: textOf(last?.['mode']),
  reason: textOf(last?.['reason']),
  status: textOf(last?.['status']),
  error: textOf(last?.['error']),
});

/** These details depend on every row of the stream, so a reader restricted to some assets sees none. */
const HIDDEN_DETAILS = {
  ...lastReadOf(undefined),
  ...{ rows: null, held_count: null, rejected_count: null, gap_count: null },
} as const;

/** The watermark: the source's changes up to this time are in the mirror (R2). */
function completeAt(reads: PageReads, { env, stream }: StreamOfEnvironment): string | null {
  const [row] = reads.rows({
    sql: 'select watermark from sync_checkpoints where env_id = @env and stream = @stream',
    values: { env, stream: stream.name },
  });
  return textOf(row?.['watermark']);
}

function lastStreamRun(reads: PageReads, { env, stream }: StreamOfEnvironment): SqlRow | undefined {
  return reads.rows({
    sql: `select mode, reason, status, error, ended_at from sync_stream_runs
      where env_id = @env and stream = @stream order by run_id desc limit 1`,
    values: { env, stream: stream.name },
  })[0];
}

function countsOf(reads: PageReads, { env, stream }: StreamOfEnvironment) {
  const count = (sql: string): number | null =>
    numberOf(reads.rows({ sql, values: { env, stream: stream.name } })[0]?.['rows']);
  const of = 'env_id = @env and stream = @stream';
  return {
    rows: liveRowsIn(reads, stream, env),
    held_count: count(`select count(*) as rows ${fromHeldRows(stream)} and h.env_id = @env`),
    rejected_count: count(`select count(*) as rows from rejected_rows where ${of}`),
    gap_count:
      stream.method === 'window' ? count('select count(*) as rows from test_execution_gaps where env_id = @env') : 0,
  };
}
