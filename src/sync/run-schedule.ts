import { counted } from '../core/counted.ts';
import { errorMessage, SyncError, usageError } from '../core/errors.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import {
  capAtNow,
  type LastStarts,
  LIST_EVERY_SECONDS,
  type NextTick,
  nextScheduleStep,
  type ScheduledRun,
  type ScheduleRules,
  type TimetableChange,
  timetable,
  timetableChanges,
} from '../core/schedule/schedule.ts';
import { chooseEnvironments, environmentsError } from '../core/schedule/wanted-environments.ts';
import { addSeconds, type Instant, secondsBetween } from '../core/time/instant.ts';
import type { RunSummary } from './summary.ts';

/** What the mirror knows of the environments and their past runs. */
export interface MirroredEnvironments {
  readonly environments: readonly ListedEnvironment[];
  /** When the last finished run of each environment began. */
  readonly lastStarts: LastStarts;
}

export interface SchedulePorts {
  /** The machine's clock. */
  clock(): Instant;
  /** Resolves early when `signal` is aborted. */
  sleep(ms: number): Promise<void>;
  readonly next: NextTick;
  /** Empty if there is no mirror yet. @throws SyncError `usage` if the mirror cannot be used */
  mirrored(): Promise<MirroredEnvironments>;
  /** `GET /environments`. @throws SyncError */
  list(): Promise<readonly ListedEnvironment[]>;
  run(environments: readonly ListedEnvironment[]): Promise<RunOutcome>;
  readonly log: { info(line: string): void; warn(line: string): void };
  readonly signal: AbortSignal;
}

export interface RunOutcome {
  readonly summary: RunSummary;
  /** The environments that the run listed; null if it did not get that far. */
  readonly listed: readonly ListedEnvironment[] | null;
}

/**
 * Syncs each environment when it is due, one run at a time, until a signal. A failed run is retried at the next tick.
 * @throws SyncError if the options can never work
 */
export async function runSchedule(ports: SchedulePorts, rules: ScheduleRules): Promise<void> {
  const mirrored = await ports.mirrored();
  const state: ScheduleState = {
    ports,
    rules,
    environments: mirrored.environments,
    lastStarts: mirrored.lastStarts,
    timetable: [],
    nextListing: ports.clock(),
    listed: false,
    proven: false,
  };
  await list(state);
  while (!ports.signal.aborted) {
    const now = ports.clock();
    retime(state, now);
    const next = nextScheduleStep(state.timetable, state.nextListing, now);
    if (next.do === 'run') await runDue(state, next.due);
    else if (next.do === 'list') await list(state);
    else await ports.sleep(Math.min(secondsBetween(now, next.until), MAX_SLEEP_SECONDS) * 1000);
  }
  ports.log.info('the schedule has stopped');
}

/** The longest sleep. It is short so the schedule recovers soon after the machine slept or its clock was set. */
const MAX_SLEEP_SECONDS = 60;

/** The delay before a failed listing is retried while no environment is known. */
const LIST_AGAIN_SECONDS = 60;

interface ScheduleState {
  readonly ports: SchedulePorts;
  readonly rules: ScheduleRules;
  environments: readonly ListedEnvironment[];
  lastStarts: LastStarts;
  timetable: readonly ScheduledRun[];
  nextListing: Instant;
  /** Whether the environments have been listed since the start. */
  listed: boolean;
  /** Whether a run has shown that the configuration works. */
  proven: boolean;
}

function retime(state: ScheduleState, now: Instant): void {
  const { next, log } = state.ports;
  state.lastStarts = capAtNow(state.lastStarts, now);
  const after = timetable(state.environments, state.rules, state.lastStarts, { now, next });
  for (const change of timetableChanges(state.timetable, after)) {
    const level = change.what === 'scheduled' ? 'info' : 'warn';
    log[level](sentence(change, now));
  }
  state.timetable = after;
}

function sentence({ what, scheduledRun: { environment, cron, due } }: TimetableChange, now: Instant): string {
  switch (what) {
    case 'scheduled':
      return `${environment.name}: ${cron} (UTC), next run ${due === null || due <= now ? 'now' : at(due)}`;
    case 'no cron':
      return `${environment.name} has no cron expression of its own and is not synced: pass one with --cron`;
    case 'bad cron':
      return `${environment.name} is not synced: its cron expression is wrong or has no tick: ${cron}; pass one with --cron`;
    case 'gone':
      return `${environment.name} is no longer listed, or was renamed, so it is no longer synced: its rows stay as they are`;
  }
}

function at(instant: Instant): string {
  return `at ${instant.slice(0, 19).replace('T', ' ')}Z`;
}

/** Lists the environments. Only a failure of the first listing may end the schedule. */
async function list(state: ScheduleState): Promise<void> {
  const { ports } = state;
  const isFirst = !state.listed;
  try {
    accept(state, await ports.list());
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    if (ports.signal.aborted) return;
    if (isFirst && (error.recovery === 'usage' || error.recovery === 'token')) throw error;
    const seconds = state.environments.length === 0 ? LIST_AGAIN_SECONDS : LIST_EVERY_SECONDS;
    ports.log.warn(`${error.message} The next listing of the environments is in ${seconds / 60} min.`);
    state.nextListing = addSeconds(ports.clock(), seconds);
    return;
  }
  if (isFirst) requireSchedule(state);
  else warnOfMissing(state);
}

function accept(state: ScheduleState, listed: readonly ListedEnvironment[]): void {
  state.environments = listed;
  state.nextListing = addSeconds(state.ports.clock(), LIST_EVERY_SECONDS);
  state.listed = true;
}

/** An environment may have been renamed, or gone out of the token's sight. */
function warnOfMissing({ ports: { log }, rules, environments }: ScheduleState): void {
  const error = environmentsError(environments, rules.environments);
  if (error !== null) log.warn(error.message);
}

function requireSchedule(state: ScheduleState): void {
  chooseEnvironments(state.environments, state.rules.environments);
  retime(state, state.ports.clock());
  if (state.timetable.every(({ due }) => due === null)) {
    throw usageError('there is nothing to schedule: pass a cron expression with --cron');
  }
}

async function runDue(state: ScheduleState, due: readonly ScheduledRun[]): Promise<void> {
  const { ports, rules } = state;
  const environments = due.slice(0, rules.together ? due.length : 1).map(({ environment }) => environment);
  const { lastStarts } = state;
  state.lastStarts = new Map([...lastStarts, ...environments.map(({ id }) => [id, ports.clock()] as const)]);
  const ran = await outcomeOf(ports, environments);
  if (ran === null) return;
  const { summary, listed } = ran;
  report(ports, environments, summary);
  if (ports.signal.aborted) return;
  if (listed !== null) {
    accept(state, listed);
    warnOfMissing(state);
  } else if (summary.recovery === 'usage' && !(state.proven && environments.length === 1)) {
    await list(state);
    const stay = environments.filter(({ id }) => state.environments.some((each) => each.id === id));
    // If an environment was just removed, this is not an error, and the others are still due.
    if (stay.length < environments.length) state.lastStarts = lastStarts;
    else if (!state.proven && !ports.signal.aborted) throw usageError(summary.error ?? 'the run was refused');
  }
  state.proven ||= summary.recovery !== 'usage';
}

/** @returns null after an unexpected failure, which is logged; the schedule continues */
async function outcomeOf(ports: SchedulePorts, environments: readonly ListedEnvironment[]): Promise<RunOutcome | null> {
  try {
    return await ports.run(environments);
  } catch (error) {
    ports.log.warn(`${namesOf(environments)}: the run failed unexpectedly: ${errorMessage(error)}`);
    return null;
  }
}

function namesOf(environments: readonly ListedEnvironment[]): string {
  return environments.length > MAX_NAMED
    ? `${environments.length} environments`
    : environments.map(({ name }) => name).join(', ');
}

const MAX_NAMED = 5;

function report({ log }: SchedulePorts, environments: readonly ListedEnvironment[], summary: RunSummary): void {
  const names = namesOf(environments);
  const { run, status, rows_written, rows_deleted, requests, error } = summary;
  const counts = `${counted(rows_written, 'row')} written, ${rows_deleted} deleted, ${counted(requests, 'request')}`;
  const line = `${names}: run ${run} ended, ${status}: ${counts}${changesOf(summary)}`;
  const isStopped = summary.recovery === 'signal';
  if (run === null && isStopped) return;
  // A signal is no problem.
  if (status === 'done' || isStopped) log.info(line);
  else if (run === null) log.warn(`${names}: ${error}`);
  else log.warn(error === null ? line : `${line}; ${error}`);
}

/** The streams that changed, over all environments of the run. */
function changesOf({ streams }: RunSummary): string {
  const changes = new Map<string, number>();
  for (const { stream, rows_written, rows_deleted } of streams)
    changes.set(stream, (changes.get(stream) ?? 0) + rows_written + rows_deleted);
  const changed = [...changes].filter(([, rows]) => rows > 0).map(([stream, rows]) => `${stream} ${rows}`);
  return changed.length === 0 ? '' : ` (${changed.join(', ')})`;
}
