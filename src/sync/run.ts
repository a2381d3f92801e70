import { loadEnvironments, saveEnvironments } from '../../state/environment-store.ts';
import { saveListLengths } from '../../state/list-lengths.ts';
import { loadQuota, saveQuota } from '../../state/quota-store.ts';
import { beginRun, claimMirror, endRun, joinPass, type Run, type RunStatus } from '../../state/run-log.ts';
import type { Context, Options } from '../core/context.ts';
import { type Environment, type Reconciled, reconcile } from '../core/environments.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import type { Instant } from '../core/instant.ts';
import { learned } from '../core/quota.ts';
import type { Stream } from '../core/stream.ts';
import { type MeasuredList, measuring } from './measure-lists.ts';
import type { OpenMirror, RunPorts } from './ports.ts';
import { type RunSummary, type StreamSummary, summarize } from './summary.ts';
import { syncEnvironments } from './sync-environments.ts';

export interface RunOptions extends Options {
  readonly baseUrl: string;
  readonly streams: readonly Stream[];
  /** Ids or names; all environments when empty. */
  readonly environments: readonly string[];
  readonly concurrency: number;
}

/** One run: opens with `GET /environments`, brings every stream up to date, notes how it went. Never throws a `SyncError`. */
export async function runSync(ports: RunPorts, options: RunOptions): Promise<RunSummary> {
  const startedAt = ports.clock();
  const state: RunState = { mirror: null, run: null, streams: [], missing: [], lists: [] };
  let failure: unknown = null;
  try {
    if (ports.mirrorExists) open(ports, options, state, startedAt);
    await readAll(ports, options, state, startedAt);
  } catch (error) {
    failure = error;
  }
  try {
    return close(ports, state, startedAt, failure);
  } finally {
    state.mirror?.close();
  }
}

interface RunState {
  mirror: OpenMirror | null;
  run: Run | null;
  streams: readonly StreamSummary[];
  missing: readonly Environment[];
  readonly lists: MeasuredList[];
}

function open(ports: RunPorts, options: RunOptions, state: RunState, startedAt: Instant): OpenMirror {
  state.mirror = ports.openMirror();
  claimMirror(state.mirror.db, options.baseUrl);
  const id = beginRun(state.mirror.db, startedAt);
  state.run = { id, pass: id };
  return state.mirror;
}

async function readAll(ports: RunPorts, options: RunOptions, state: RunState, startedAt: Instant): Promise<void> {
  const items = await ports.source.environments();
  const held = state.mirror === null ? [] : loadEnvironments(state.mirror.db);
  const reconciled = reconcile(items, held, ports.source.serverTime() ?? ports.clock());
  // Noted even if the run goes no further: what was not listed has to be scanned when it is back (R13).
  const noted = state.mirror !== null;
  if (noted) note(ports, state, reconciled);
  const chosen = choose(reconciled, options.environments);
  const mirror = state.mirror ?? open(ports, options, state, startedAt);
  if (!noted) note(ports, state, reconciled);
  const ids = chosen.map((environment) => environment.id);
  const run = joinPass(mirror.db, (state.run as Run).id, ids);
  state.run = run;
  ports.onProgress({ type: 'environments', environments: chosen, missing: reconciled.missing });
  const context = (): Context => ({ run: run.id, pass: run.pass, now: ports.source.serverTime(), options });
  const source = measuring(ports.source, options.streams, (list) => state.lists.push(list));
  const { streams, concurrency } = options;
  const session = { ports: { ...ports, source }, context, mirror, streams, concurrency };
  await syncEnvironments(session, chosen, (summaries) => {
    state.streams = summaries;
  });
  if (reconciled.rejected.length > 0) {
    throw new SyncError(
      'run',
      `${reconciled.rejected.length} environments could not be read: see the table rejected_rows`,
    );
  }
}

function note({ clock }: RunPorts, state: RunState, reconciled: Reconciled): void {
  state.missing = reconciled.missing;
  saveEnvironments((state.mirror as OpenMirror).db, reconciled, { id: (state.run as Run).id, clock });
}

/** The environments asked for. @throws SyncError `usage` for one that is not listed, `run` when none is */
export function choose({ listed }: Pick<Reconciled, 'listed'>, wanted: readonly string[]): readonly Environment[] {
  const unknown = wanted.filter((name) => !listed.some((env) => env.id === name || env.name === name));
  if (unknown.length > 0) {
    const names = listed.map((env) => env.name).join(', ') || 'none';
    throw new SyncError('usage', `no environment ${unknown.join(', ')}: the token sees ${names}`);
  }
  if (listed.length === 0) throw new SyncError('run', 'the token sees no environment: check its permissions');
  return wanted.length === 0 ? listed : listed.filter((env) => wanted.includes(env.id) || wanted.includes(env.name));
}

function close(ports: RunPorts, state: RunState, startedAt: Instant, failure: unknown): RunSummary {
  const status = statusOf(state.streams, failure);
  const error = failure instanceof Error ? failure.message : null;
  const summary = summarize({
    run: state.run,
    status,
    error,
    recovery: failure instanceof SyncError ? failure.recovery : null,
    serverTime: ports.source.serverTime(),
    startedAt,
    endedAt: ports.clock(),
    requests: ports.source.requests(),
    streams: state.streams,
    missing: state.missing,
  });
  if (state.mirror !== null && state.run !== null) {
    const { rows_written, rows_deleted, rows_rejected, server_time, ended_at, requests } = summary;
    const counts = { rows_written, rows_deleted, rows_rejected, requests };
    const run = { id: state.run.id, clock: ports.clock };
    endRun(state.mirror.db, run, { status, error, ...counts, server_time, ended_at });
    keepMeasures(ports, state.mirror, state.lists);
  }
  if (failure !== null && !(failure instanceof SyncError)) throw failure;
  return summary;
}

/** What a forecast of the next run goes by. */
function keepMeasures({ source }: RunPorts, { db }: OpenMirror, lists: readonly MeasuredList[]): void {
  saveListLengths(db, lists);
  const told = source.quota?.() ?? null;
  if (told !== null) saveQuota(db, learned(loadQuota(db), told));
}

const STATUS_OF: Readonly<Partial<Record<SyncError['recovery'], RunStatus>>> = {
  budget: 'stopped',
  signal: 'interrupted',
  token: 'refused',
};

/** A run is green only when every stream is complete (R9). */
function statusOf(streams: readonly StreamSummary[], failure: unknown): RunStatus {
  if (failure !== null)
    return (failure instanceof SyncError && endsRun(failure) && STATUS_OF[failure.recovery]) || 'problems';
  return streams.every((stream) => GREEN.has(stream.status) && stream.rows_rejected === 0) ? 'done' : 'problems';
}

const GREEN: ReadonlySet<StreamSummary['status']> = new Set(['done', 'unavailable']);
