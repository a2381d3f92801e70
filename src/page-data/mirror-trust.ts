import { COMPLETE_AT, COUNTED_CHECKPOINTS } from '../../schema/sync.ts';
import { WELL_ENDED } from '../core/ports/state-store.ts';
import { EPOCH, type Instant } from '../core/time/instant.ts';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { CatalogueEntry } from '../streams/entry.ts';
import { fromHeldRows, liveRowsIn } from './live-rows.ts';
import type { EnvironmentTrust, MirrorTrust, QuotaTrust, RunTrust, StreamTrust, VerifyTrust } from './page-data.ts';
import { bind, type PageReads, type PageScope, selectCount, selectRows, selectTexts } from './page-scope.ts';
import { selectValues } from './sql.ts';

export interface TrustReader {
  /** The visible environments; null for all. */
  readonly environments: ReadonlySet<string> | null;
  readonly deniedScopes: readonly string[];
  /** Whether the reader is restricted to some assets. Then the answer reveals nothing that depends on other assets. */
  readonly seesSomeAssets: boolean;
}

/** The state of the mirror, from which a reader decides whether to trust it. */
export function mirrorTrust(reads: PageReads, reader: TrustReader): MirrorTrust {
  const { environments: visible, deniedScopes } = reader;
  const seen = CATALOGUE.filter(({ serve }) => serve === false || !deniedScopes.includes(serve.scope));
  const sql = 'select id as env_id, name, cron, missing_since from environments order by name, id';
  const environments = reads
    .rows<NamedEnvironment>(bind(sql))
    .filter(({ env_id }) => visible?.has(env_id) ?? true)
    .map((row) => environmentTrust(reads, reader, row, seen));
  const limitedTo = limitOf(reader);
  const ids = environments.map(({ env_id }) => env_id);
  const clock = `select max(mirrored_at) from mirror_environments where env_id in ${selectValues('ids')}`;
  return {
    now: reads.texts(bind(clock, { ids }))[0] ?? EPOCH,
    limited_to: limitedTo,
    ...{ last_run: null, last_verify: null, quota: null },
    // How a stream was read depends on all of its rows, also hidden ones.
    ...(limitedTo === 'streams' && { last_run: lastRunOf(reads, ids, seen) }),
    ...(limitedTo === null && { last_run: lastRun(reads), last_verify: lastVerify(reads), quota: readQuota(reads) }),
    environments,
  };
}

function limitOf({ environments, deniedScopes, seesSomeAssets }: TrustReader): MirrorTrust['limited_to'] {
  if (seesSomeAssets) return 'assets';
  return environments === null && deniedScopes.length === 0 ? null : 'streams';
}

function lastRun(reads: PageReads): RunTrust | null {
  const sql = `select id as run, status, started_at, ended_at, requests, error from sync_runs
    where command = 'sync' order by id desc limit 1`;
  return reads.rows<RunTrust>(bind(sql))[0] ?? null;
}

/**
 * The last sync that read one of these streams, derived from these streams alone: the status, times, requests and error
 * of the run cover other streams as well. It is `done` by the same rule as a run (R9, R20).
 */
function lastRunOf(reads: PageReads, ids: readonly string[], streams: readonly CatalogueEntry[]): RunTrust | null {
  const sql = `select s.run_id as run,
      iif(max(s.status not in ${selectValues('well')} or exists (
        select 1 from rejected_rows r where r.env_id = s.env_id and r.stream = s.stream)), 'problems', 'done') as status,
      min(s.started_at) as started_at, max(s.ended_at) as ended_at, null as requests, null as error
    from sync_stream_runs s
    where s.env_id in ${selectValues('ids')} and s.stream in ${selectValues('streams')} and s.run_id = (
      select max((select max(s.run_id) from sync_stream_runs s join sync_runs r on r.id = s.run_id and r.command = 'sync'
        where s.env_id = e.value and s.stream = n.value))
      from json_each(@ids) e, json_each(@streams) n)
    group by s.run_id`;
  const lists = { ids, streams: streams.map(({ name }) => name), well: WELL_ENDED };
  return reads.rows<RunTrust>(bind(sql, lists))[0] ?? null;
}

function lastVerify(reads: PageReads): VerifyTrust | null {
  const sql = 'select ended_at, equal, difference_count from verifications order by id desc limit 1';
  const [last] = reads.rows<Omit<VerifyTrust, 'equal'> & { equal: 0 | 1 }>(bind(sql));
  return last === undefined ? null : { ...last, equal: last.equal === 1 };
}

function readQuota(reads: PageReads): QuotaTrust | null {
  const sql = `select quota_limit as "limit", quota_window_seconds as window_seconds, quota_remaining as remaining,
      quota_noted_at as noted_at
    from mirror where quota_limit is not null and quota_window_seconds is not null and quota_remaining is not null
      and quota_noted_at is not null`;
  return reads.rows<QuotaTrust>(bind(sql))[0] ?? null;
}

type NamedEnvironment = Pick<EnvironmentTrust, 'env_id' | 'name' | 'cron' | 'missing_since'>;

function environmentTrust(
  reads: PageReads,
  reader: TrustReader,
  row: NamedEnvironment,
  streams: readonly CatalogueEntry[],
): EnvironmentTrust {
  // Nothing that is read in this scope depends on assets, except details that a restricted reader does not get.
  const scope: PageScope = { reads, env: row.env_id, limit: null, seesTests: true };
  return {
    ...row,
    has_views: row.missing_since === null,
    denied_scopes: reader.deniedScopes,
    complete_at: completeAt(scope, streams),
    pruned: prunedIn(scope),
    streams: streams.flatMap((stream) => streamTrust(scope, reader, stream) ?? []),
  };
}

/** As in `environment_freshness`, of the streams that the reader sees. */
function completeAt(scope: PageScope, streams: readonly CatalogueEntry[]): Instant | null {
  const sql = `select ${COMPLETE_AT} from sync_checkpoints
    where env_id = @env and stream in ${selectValues('streams')} and ${COUNTED_CHECKPOINTS}`;
  const [instant = null] = selectTexts(scope, sql, { streams: streams.map(({ name }) => name) });
  return instant;
}

/** Thinned scores are left out: every day still has one. */
function prunedIn(scope: PageScope): EnvironmentTrust['pruned'] {
  const sql = `select history, complete_before as before from pruned_history
    where env_id = @env and action = 'delete' and complete_before is not null and row_count > 0 order by history`;
  return selectRows<EnvironmentTrust['pruned'][number]>(scope, sql);
}

type StreamDetails = Omit<StreamTrust, 'stream' | 'complete_at'>;

/** These details depend on every row of the stream, so a reader restricted to some assets sees none. */
const NO_DETAILS: StreamDetails = {
  ...{ ended_at: null, mode: null, reason: null, status: null, error: null },
  ...{ rows: null, held_count: null, rejected_count: null, gap_count: null },
};

/** Null for an optional stream that was never read. */
function streamTrust(scope: PageScope, { seesSomeAssets }: TrustReader, stream: CatalogueEntry): StreamTrust | null {
  const of = { stream: stream.name };
  // The source's changes up to the watermark are in the mirror (R2).
  const watermark = 'select watermark from sync_checkpoints where env_id = @env and stream = @stream';
  const [complete_at = null] = selectTexts(scope, watermark, of);
  const lastRead = `select ended_at, mode, reason, status, error from sync_stream_runs
    where env_id = @env and stream = @stream order by run_id desc limit 1`;
  const [last] = selectRows<StreamDetails>(scope, lastRead, of);
  const details = seesSomeAssets ? NO_DETAILS : { ...NO_DETAILS, ...last, ...countsOf(scope, stream) };
  if (stream.optional && last === undefined && !details.rows) return null;
  return { ...of, complete_at, ...details };
}

const countsOf = (scope: PageScope, stream: CatalogueEntry) => ({
  rows: liveRowsIn(scope, stream),
  held_count: selectCount(scope, `${fromHeldRows(stream)} and h.env_id = @env`),
  rejected_count: selectCount(scope, 'from rejected_rows where env_id = @env and stream = @stream', {
    stream: stream.name,
  }),
  gap_count: stream.method === 'window' ? selectCount(scope, 'from test_execution_gaps where env_id = @env') : 0,
});
