import type { Context, DecisionOptions } from '../core/context.ts';
import { pruningRules } from '../core/decide/retention.ts';
import { endsRun, type RunRecovery, SyncError } from '../core/errors.ts';
import type { OpenMirror } from '../core/ports/open-mirror.ts';
import { type JoinedRun, type MeasuredList, type RunStatus, WELL_ENDED } from '../core/ports/state-store.ts';
import { mergeQuota, remainingWindow } from '../core/quota/quota.ts';
import { inReadingOrder, lateByEnvironment } from '../core/schedule/cycle.ts';
import { type EnvironmentChanges, type ListedEnvironment, reconcile } from '../core/schedule/environments.ts';
import { chooseEnvironments, wantedOf } from '../core/schedule/wanted-environments.ts';
import type { Stream } from '../core/stream.ts';
import { addDays, earlierOf, type Instant } from '../core/time/instant.ts';
import { spreadSeconds } from '../core/time/server-times.ts';
import { pruneHistories, renewDays } from './maintain-histories.ts';
import { measuring } from './measure-lists.ts';
import type { RunPorts } from './ports.ts';
import type { RunSummary, StreamSummary } from './summary.ts';
import { type RunProgress, type SyncSession, streamKey, syncEnvironments } from './sync-environments.ts';

export interface RunOptions extends DecisionOptions {
  /** Every stream of the catalogue, in a run's preferred order. */
  readonly catalogue: readonly Stream[];
  readonly baseUrl: string;
  readonly streams: readonly Stream[];
  /** Ids or names; all environments when empty. */
  readonly environments: readonly string[];
  readonly concurrency: number;
}

/**
 * Runs a sync: lists the environments, brings every stream up to date and records the result. Never throws a
 * `SyncError`.
 */
export async function runSync(ports: RunPorts, options: RunOptions): Promise<RunSummary> {
  const state: RunState = {
    ports,
    options,
    startedAt: ports.clock(),
    mirror: null,
    opened: null,
    environments: [],
    reached: { summaries: new Map(), heldElsewhere: [], leftOver: 'unread', notReached: 0 },
    missing: [],
    lists: [],
  };
  let failure: unknown = null;
  try {
    await readAll(state, ports.mirrorExists ? await open(state) : null);
  } catch (error) {
    failure = error;
  }
  await renew(state).catch((error: unknown) => {
    // The first error ends the run and decides the exit code.
    failure ??= error;
  });
  try {
    const summary = await close(state, failure);
    // A run that was refused decides nothing.
    if (state.opened !== null) await ports.onEnd?.(state.opened.mirror, summary, envIdsOf(state));
    return summary;
  } finally {
    await state.mirror?.close();
  }
}

interface RunState {
  readonly ports: RunPorts;
  readonly options: RunOptions;
  readonly startedAt: Instant;
  /** To be closed at the end, even if the run could not begin. */
  mirror: OpenMirror | null;
  /** Null until the run has begun, and if it was refused. */
  opened: OpenedRun | null;
  environments: readonly ListedEnvironment[];
  readonly reached: RunProgress;
  missing: readonly ListedEnvironment[];
  lists: MeasuredList[];
}

function envIdsOf({ environments }: RunState): string[] {
  return environments.map(({ id }) => id);
}

/** Runs even if the run failed or was stopped: what it committed stays. */
async function renew(state: RunState): Promise<void> {
  if (state.opened === null) return;
  const { signal, clock, source } = state.ports;
  const maintenance = { mirror: state.opened.mirror, run: state.opened.run.id, signal };
  const envIds = envIdsOf(state);
  const { serverTime } = source.times();
  if (serverTime !== null)
    await pruneHistories(maintenance, envIds, pruningRules(state.options.retention, [serverTime, clock()]));
  await renewDays(maintenance, envIds);
}

interface OpenedRun {
  readonly mirror: OpenMirror;
  readonly run: JoinedRun;
}

async function open(state: RunState): Promise<OpenedRun> {
  const mirror = await state.ports.openMirror();
  state.mirror = mirror;
  await mirror.state.claimMirror(state.options.baseUrl);
  const id = await mirror.state.beginRun(state.startedAt, 'sync');
  state.opened = { mirror, run: { id, cycle: id, lastVisits: new Map(), afterRun: null, owesTurn: false } };
  return state.opened;
}

/** `earlier` is null if there was no mirror; it is then created after the source has responded. */
async function readAll(state: RunState, earlier: OpenedRun | null): Promise<void> {
  const { ports, options } = state;
  const { catalogue, streams, concurrency, limits = null } = options;
  await resumeQuota(state);
  const items = await ports.source.environments();
  const held = earlier === null ? [] : await earlier.mirror.state.environments();
  const reconciled = reconcile(items, held, ports.source.times().serverTime ?? ports.clock(), limits);
  // Saved even if the run ends here: an environment that was not listed must be scanned when it is back (R13).
  if (earlier !== null) await saveEnvironments(state, earlier, reconciled);
  state.environments = chooseEnvironments(reconciled.listed, options.environments);
  const opened = earlier ?? (await open(state));
  if (earlier === null) await saveEnvironments(state, opened, reconciled);
  const { mirror } = opened;
  await mirror.hold(envIdsOf(state));
  const { run, late } = await join(state, opened);
  ports.onProgress({ type: 'environments', environments: state.environments, missing: reconciled.missing });
  const context = (): Context => ({ run: run.id, cycle: run.cycle, ...ports.source.times(), options, limits });
  const source = measuring(ports.source, streams, (list) => keepLength(mirror, state, list));
  const { owesTurn } = run;
  const session = { ports: { ...ports, source }, context, mirror, catalogue, streams, concurrency, late, owesTurn };
  try {
    await syncEnvironments(session, inReadingOrder(state.environments, run), state.reached);
  } catch (error) {
    // The first error ends the run and decides the exit code, so an error here is ignored.
    await mirror.flush().catch(() => {});
    throw error;
  }
  await mirror.flush();
  if (reconciled.rejected.length > 0) {
    throw new SyncError(
      'run',
      `${reconciled.rejected.length} environments could not be read: see the table rejected_rows`,
    );
  }
}

async function join(
  state: RunState,
  { mirror, run: { id } }: OpenedRun,
): Promise<Pick<SyncSession, 'late'> & { readonly run: JoinedRun }> {
  const { full, fullEveryDays, catalogue, streams } = state.options;
  const where = { id, envIds: envIdsOf(state), streams: catalogue.map(({ name }) => name) };
  const run = await mirror.state.joinCycle({
    ...where,
    selected: streams.map(({ name }) => name),
    now: state.ports.source.times().serverTime,
    full,
    fullEvery: String(fullEveryDays),
  });
  state.opened = { mirror, run };
  // A cycle that is continued for a turn alone has left nothing else.
  if (run.owesTurn && run.cycle !== id) state.reached.leftOver = 'failed';
  const tries = run.afterRun === null ? new Map() : await mirror.state.lastTries(where);
  return { run, late: lateByEnvironment(tries, run) };
}

/** Saves the lengths of lists a hundred at a time, because thousands of environments have many. */
async function keepLength(mirror: OpenMirror, state: RunState, list: MeasuredList): Promise<void> {
  state.lists.push(list);
  if (state.lists.length < 100) return;
  const { lists } = state;
  // Taken out before saving, because another stream may measure a list meanwhile.
  state.lists = [];
  await mirror.state.saveListLengths(lists);
}

async function saveEnvironments(
  state: RunState,
  { mirror, run }: OpenedRun,
  changes: EnvironmentChanges,
): Promise<void> {
  state.missing = changes.missing;
  const asked = state.options.environments;
  const readIds = wantedOf(changes.listed, asked).chosen.map(({ id }) => id);
  await mirror.state.saveEnvironments(changes, run.id, asked.length === 0 ? undefined : readIds);
}

const REFUSALS: ReadonlySet<SyncError['recovery']> = new Set(['usage', 'locked']);

/**
 * Removes the run's entry from the log if the run was refused because of its options or because another run writes the
 * mirror.
 */
async function forgetRefused(state: RunState, streams: readonly StreamSummary[], failure: unknown): Promise<void> {
  if (!(failure instanceof SyncError) || !REFUSALS.has(failure.recovery) || streams.length > 0) return;
  await state.opened?.mirror.state.forgetRun(state.opened.run.id);
  state.opened = null;
}

async function close(state: RunState, failure: unknown): Promise<RunSummary> {
  const { source, clock } = state.ports;
  const streams = streamsOf(state);
  // A displaced writer may not even do that; the first error ends the run and decides the exit code.
  await forgetRefused(state, streams, failure).catch(() => {});
  const { opened } = state;
  const total = (field: 'rows_written' | 'rows_deleted' | 'rows_rejected'): number =>
    streams.reduce((sum, stream) => sum + stream[field], 0);
  const summary: RunSummary = {
    run: opened?.run.id ?? null,
    cycle: opened?.run.cycle ?? null,
    status: statusOf(streams, failure),
    server_time: source.times().serverTime,
    clock_spread_seconds: spreadSeconds(source.times()),
    started_at: state.startedAt,
    ended_at: clock(),
    requests: source.requests(),
    rows_written: total('rows_written'),
    rows_deleted: total('rows_deleted'),
    rows_rejected: total('rows_rejected'),
    error: failure instanceof Error ? failure.message : null,
    recovery: failure instanceof SyncError ? failure.recovery : null,
    missing: state.missing.map(({ name }) => name),
    streams,
    streams_not_reached: state.reached.notReached,
  };
  if (opened !== null)
    await record(state, opened, summary).catch((error: unknown) => {
      // The first error ends the run and decides the exit code. If there is no room for rows, there may be none for the
      // run's end either.
      if (failure === null) throw error;
    });
  if (failure !== null && !(failure instanceof SyncError)) throw failure;
  return summary;
}

async function record(
  state: RunState,
  { mirror, run }: OpenedRun,
  { status, error, recovery, rows_written, rows_deleted, rows_rejected, requests, server_time, ended_at }: RunSummary,
): Promise<void> {
  const counts = { rows_written, rows_deleted, rows_rejected, requests };
  const leftOver = recovery === 'budget' || recovery === 'quota' ? state.reached.leftOver : null;
  const end = { status, error, ...counts, server_time, ended_at, left_over: leftOver };
  await mirror.state.endRun(run, end, state.lists);
  const { source, clock } = state.ports;
  const quota = source.quota?.() ?? null;
  // For the forecast of the next run.
  if (quota !== null) await mirror.state.saveQuota(mergeQuota(await mirror.state.quota(), quota), clock());
  const { keepRunsDays } = state.options.retention;
  if (server_time === null || keepRunsDays === null) return;
  // No wrong clock alone deletes anything (R1).
  await mirror.state.pruneLog(addDays(earlierOf(server_time, clock()), -keepRunsDays));
}

/** The summaries in order of environment and catalogue. */
function streamsOf({ environments, reached, options: { catalogue } }: RunState): StreamSummary[] {
  const { summaries, heldElsewhere } = reached;
  const ended = environments.flatMap((environment) =>
    catalogue.flatMap((stream) => summaries.get(streamKey(environment, stream)) ?? []),
  );
  return [...ended, ...heldElsewhere];
}

/** Resumes with what earlier runs left of the quota (R23). */
async function resumeQuota({ ports: { source, keptQuota, clock }, mirror }: RunState): Promise<void> {
  const kept = (await mirror?.state.keptQuota()) ?? null;
  const left = remainingWindow([kept, keptQuota ?? null], clock());
  if (left !== null) source.resumeQuota?.(left);
}

const STATUS_OF: Readonly<Record<RunRecovery, RunStatus>> = {
  run: 'problems',
  quota: 'problems',
  token: 'refused',
  usage: 'problems',
  locked: 'problems',
  budget: 'stopped',
  signal: 'interrupted',
};

/** A run is `done` only if every stream is complete and none of their rows is rejected (R9, R20). */
function statusOf(streams: readonly StreamSummary[], failure: unknown): RunStatus {
  if (failure !== null) return endsRun(failure) ? STATUS_OF[failure.recovery] : 'problems';
  return streams.every((stream) => WELL_ENDED.includes(stream.status) && stream.rejected_standing === 0)
    ? 'done'
    : 'problems';
}
