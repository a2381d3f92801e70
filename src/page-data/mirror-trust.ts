import { EPOCH } from '../core/instant.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import { keepsGone, liveRowsIn } from './live-rows.ts';
import type { EnvironmentTrust, MirrorTrust, QuotaTrust, RunTrust, StreamTrust, VerifyTrust } from './page-data.ts';
import { listed, numberOf, type PageReads, type PageRow, textOf } from './page-scope.ts';

/** What a reader may see of the mirror as a whole. */
export interface TrustReader {
  /** The environments; null for all. */
  readonly environments: ReadonlySet<string> | null;
  /** What the reader may not ask. */
  readonly deniedScopes: readonly string[];
  /** Whether the reader may see only some assets: then nothing is said that depends on the others. */
  readonly seesSomeAssets: boolean;
}

/** How far the mirror can be trusted. */
export function mirrorTrust(
  pageReads: PageReads,
  trustReader: TrustReader,
  streams: readonly CatalogueEntry[],
): MirrorTrust {
  const environments = pageReads
    .rows({ sql: 'select id, name, cron, missing_since from environments order by name, id', values: {} })
    .filter(({ id }) => trustReader.environments?.has(String(id)) ?? true)
    .map((row) => environmentTrust(pageReads, trustReader, { row, streams }));
  const seesAll = trustReader.environments === null && !trustReader.seesSomeAssets;
  const ids = environments.map(({ env_id }) => env_id);
  return {
    now: clockOf(pageReads, ids),
    last_run: seesAll ? lastRun(pageReads) : lastRunOf(pageReads, ids, streams),
    last_verify: seesAll ? readLastVerify(pageReads) : null,
    quota: seesAll ? readQuota(pageReads) : null,
    environments,
  };
}

function clockOf(pageReads: PageReads, ids: readonly string[]): string {
  const [row] = pageReads.rows({
    sql: `select max(mirrored_at) as now from mirror_environments where env_id in ${listed('ids')}`,
    values: { ids: JSON.stringify(ids) },
  });
  return textOf(row?.['now']) ?? EPOCH;
}

const RUN = `id as run, status, started_at, ended_at, requests, error from sync_runs`;

function lastRun(pageReads: PageReads): RunTrust | null {
  const [row] = pageReads.rows({ sql: `select ${RUN} where command = 'sync' order by id desc limit 1`, values: {} });
  return row === undefined ? null : runTrust(row);
}

/**
 * The last sync that did something in these environments, as their streams tell it: its own end, its requests and its error are of
 * other environments as well.
 */
function lastRunOf(pageReads: PageReads, ids: readonly string[], streams: readonly CatalogueEntry[]): RunTrust | null {
  const values = { ids: JSON.stringify(ids), streams: JSON.stringify(streams.map(({ name }) => name)) };
  const [row] = pageReads.rows({
    sql: `select ${RUN} where id = (
      select max((select max(s.run_id) from sync_stream_runs s join sync_runs r on r.id = s.run_id and r.command = 'sync'
        where s.env_id = e.value and s.stream = n.value))
      from json_each(@ids) e, json_each(@streams) n)`,
    values,
  });
  if (row === undefined) return null;
  const [troubled] = pageReads.rows({
    sql: `select count(*) as streams from sync_stream_runs
      where run_id = @run and env_id in ${listed('ids')} and status not in ('done', 'unavailable', 'held')`,
    values: { ...values, run: row['run'] ?? null },
  });
  const ended = Number(troubled?.['streams']) > 0 ? 'problems' : 'done';
  const isOfAll = ['done', 'problems'].includes(String(row['status']));
  return { ...runTrust(row), status: isOfAll ? ended : String(row['status']), requests: null, error: null };
}

const runTrust = (row: PageRow): RunTrust => ({
  run: Number(row['run']),
  status: String(row['status']),
  started_at: String(row['started_at']),
  ended_at: textOf(row['ended_at']),
  requests: Number(row['requests']),
  error: textOf(row['error']),
});

function readLastVerify(pageReads: PageReads): VerifyTrust | null {
  const [row] = pageReads.rows({
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

function readQuota(pageReads: PageReads): QuotaTrust | null {
  const [row] = pageReads.rows({
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
  pageReads: PageReads,
  trustReader: TrustReader,
  { row, streams }: { readonly row: PageRow; readonly streams: readonly CatalogueEntry[] },
): EnvironmentTrust {
  const env = String(row['id']);
  const { deniedScopes } = trustReader;
  const seen = streams.filter(({ serve }) => serve === false || !deniedScopes.includes(serve.scope));
  return {
    env_id: env,
    name: String(row['name']),
    cron: textOf(row['cron']),
    missing_since: textOf(row['missing_since']),
    denied_scopes: deniedScopes,
    streams: seen.flatMap((stream) => {
      const trust = streamTrust(pageReads, trustReader, { env, stream });
      // An optional stream is shown once it has been read.
      return stream.optional && trust.ended_at === null && !trust.rows ? [] : [trust];
    }),
  };
}

interface StreamOfEnvironment {
  readonly env: string;
  readonly stream: CatalogueEntry;
}

function streamTrust(
  pageReads: PageReads,
  { seesSomeAssets }: TrustReader,
  { env, stream }: StreamOfEnvironment,
): StreamTrust {
  const last = lastStreamRun(pageReads, { env, stream });
  const known = seesSomeAssets ? null : last;
  return {
    stream: stream.name,
    complete_at: completeAt(pageReads, { env, stream }),
    ended_at: textOf(last?.['ended_at']),
    mode: textOf(known?.['mode']),
    reason: textOf(known?.['reason']),
    status: textOf(known?.['status']),
    error: textOf(known?.['error']),
    ...(seesSomeAssets ? UNTOLD : countsOf(pageReads, { env, stream })),
  };
}

const UNTOLD = { rows: null, held_count: null, rejected_count: null, gap_count: null } as const;

/** The watermark: changes up to this time of the source are in the mirror (R2). */
function completeAt(pageReads: PageReads, { env, stream }: StreamOfEnvironment): string | null {
  const [row] = pageReads.rows({
    sql: 'select watermark from sync_checkpoints where env_id = @env and stream = @stream',
    values: { env, stream: stream.name },
  });
  return textOf(row?.['watermark']);
}

function lastStreamRun(pageReads: PageReads, { env, stream }: StreamOfEnvironment): PageRow | undefined {
  return pageReads.rows({
    sql: `select mode, reason, status, error, ended_at from sync_stream_runs
      where env_id = @env and stream = @stream order by run_id desc limit 1`,
    values: { env, stream: stream.name },
  })[0];
}

function countsOf(pageReads: PageReads, { env, stream }: StreamOfEnvironment) {
  const count = (sql: string): number | null =>
    numberOf(pageReads.rows({ sql, values: { env, stream: stream.name } })[0]?.['rows']);
  const of = 'env_id = @env and stream = @stream';
  return {
    rows: liveRowsIn(pageReads, stream, env),
    held_count: count(heldRows(stream)),
    rejected_count: count(`select count(*) as rows from rejected_rows where ${of}`),
    gap_count:
      stream.method === 'window' ? count('select count(*) as rows from test_execution_gaps where env_id = @env') : 0,
  };
}

/** Counts the live rows whose removal is held back (R14). */
function heldRows({ table, key }: CatalogueEntry): string {
  const same = key.map((name, i) => ` and t.${name} = h.key_${i + 1}`).join('');
  return `select count(*) as rows from held_removals h
    where h.env_id = @env and h.stream = @stream and exists (
      select 1 from ${table} t where t.env_id = h.env_id${same}${keepsGone(table) ? ' and t.deleted_at is null' : ''})`;
}
