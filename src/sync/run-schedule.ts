import type { ListedEnvironment } from '../core/environments.ts';
import { SyncError } from '../core/errors.ts';
import { addSeconds, type Instant, secondsBetween } from '../core/instant.ts';
import {
  believable,
  type LastStarts,
  LIST_EVERY_SECONDS,
  type NextTick,
  nextScheduleStep,
  type ScheduledRun,
  type ScheduleRules,
  type TimetableChange,
  timetable,
  timetableChanges,
} from '../core/schedule.ts';
import { noSuchEnvironment, wantedOf } from '../core/wanted-environments.ts';
import type { RunSummary } from './summary.ts';

/** What the mirror knows of the environments and of their past runs. */
export interface MirroredEnvironments {
  readonly environments: readonly ListedEnvironment[];
  /** Of runs that came to their end. */
  readonly lastStarts: LastStarts;
}

export interface SchedulePorts {
  /** The machine's clock. */
  clock(): Instant;
  /** Resolves early when `signal` is aborted. */
  sleep(ms: number): Promise<void>;
  readonly next: NextTick;
  /** Nothing while there is no mirror. @throws SyncError `usage` when it cannot be used */
  mirrored(): MirroredEnvironments;
  /** `GET /environments`. @throws SyncError */
  list(): Promise<readonly ListedEnvironment[]>;
  /** One run of these environments. */
  run(environments: readonly ListedEnvironment[]): Promise<RunOutcome>;
  readonly log: { info(line: string): void; warn(line: string): void };
  readonly signal: AbortSignal;
}

export interface RunOutcome {
  readonly summary: RunSummary;
  /** The environments that the run has listed; null when it did not get so far. */
  readonly listed: readonly ListedEnvironment[] | null;
}

/**
 * Syncs each environment whenever it is due, one run at a time, until a signal comes. A run that fails is tried again at
 * its next tick. @throws SyncError when what was asked for can never work
 */
export async function runSchedule(ports: SchedulePorts, scheduleRules: ScheduleRules): Promise<void> {
  const mirrored = ports.mirrored();
  const scheduleState: ScheduleState = {
    environments: mirrored.environments,
    lastStarts: mirrored.lastStarts,
    slots: [],
    nextListing: ports.clock(),
    listed: false,
    proven: false,
  };
  await list(ports, scheduleRules, scheduleState);
  while (!ports.signal.aborted) {
    const now = ports.clock();
    retime(ports, scheduleRules, scheduleState, now);
    const next = nextScheduleStep(scheduleState.slots, scheduleState.nextListing, now);
    if (next.do === 'run') await runDue(ports, scheduleRules, scheduleState, next.slots);
    else if (next.do === 'list') await list(ports, scheduleRules, scheduleState);
    else await ports.sleep(Math.min(secondsBetween(now, next.until), NAP_SECONDS) * 1000);
  }
}

/** The longest sleep: after the machine slept or its clock was set, the schedule is soon on time again. */
const NAP_SECONDS = 60;

/** The delay before a failed listing is retried while no environment is known. */
const LIST_AGAIN_SECONDS = 60;

interface ScheduleState {
  environments: readonly ListedEnvironment[];
  lastStarts: LastStarts;
  slots: readonly ScheduledRun[];
  nextListing: Instant;
  /** The environments have been listed since the start. */
  listed: boolean;
  /** A run has got past what a wrong configuration ends. */
  proven: boolean;
}

function retime(
  { next, log }: SchedulePorts,
  scheduleRules: ScheduleRules,
  scheduleState: ScheduleState,
  now: Instant,
): void {
  scheduleState.lastStarts = believable(scheduleState.lastStarts, now);
  const slots = timetable(scheduleState.environments, scheduleRules, scheduleState.lastStarts, { now, next });
  for (const change of timetableChanges(scheduleState.slots, slots)) {
    if (change.what === 'scheduled') log.info(sentence(change, now));
    else log.warn(sentence(change, now));
  }
  scheduleState.slots = slots;
}

function sentence({ what, slot: { environment, cron, due } }: TimetableChange, now: Instant): string {
  switch (what) {
    case 'scheduled':
      return `${environment.name}: ${cron} (UTC), next run ${due === null || due <= now ? 'now' : at(due)}`;
    case 'no cron':
      return `${environment.name} has no cron expression of its own and is not synced: give one with --cron`;
    case 'bad cron':
      return `${environment.name} is not synced, its cron expression never comes due or is none: ${cron}; give one with --cron`;
    case 'gone':
      return `${environment.name} is no longer listed and not synced any more: its rows stay as they were`;
  }
}

function at(instant: Instant): string {
  return `at ${instant.slice(0, 19).replace('T', ' ')}Z`;
}

/** Lists the environments. Only an error of the first listing may end the schedule. */
async function list(ports: SchedulePorts, scheduleRules: ScheduleRules, scheduleState: ScheduleState): Promise<void> {
  try {
    scheduleState.environments = await ports.list();
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    if (ports.signal.aborted) return;
    if (!scheduleState.listed && isHopeless(error)) throw error;
    const seconds = scheduleState.environments.length === 0 ? LIST_AGAIN_SECONDS : LIST_EVERY_SECONDS;
    ports.log.warn(`${error.message} The environments are listed again in ${seconds / 60} min.`);
    scheduleState.nextListing = addSeconds(ports.clock(), seconds);
    return;
  }
  scheduleState.nextListing = addSeconds(ports.clock(), LIST_EVERY_SECONDS);
  if (!scheduleState.listed) refuseNothing(ports, scheduleRules, scheduleState);
  scheduleState.listed = true;
}

/** A configuration that is wrong, or a token that is refused. */
function isHopeless({ recovery }: SyncError): boolean {
  return recovery === 'usage' || recovery === 'token';
}

function refuseNothing(ports: SchedulePorts, scheduleRules: ScheduleRules, scheduleState: ScheduleState): void {
  const { unknown } = wantedOf(scheduleState.environments, scheduleRules.environments);
  if (unknown.length > 0) throw noSuchEnvironment(unknown, scheduleState.environments);
  retime(ports, scheduleRules, scheduleState, ports.clock());
  if (scheduleState.slots.every((slot) => slot.due === null)) {
    throw new SyncError('usage', 'there is nothing to schedule: give a cron expression with --cron');
  }
}

async function runDue(
  ports: SchedulePorts,
  scheduleRules: ScheduleRules,
  scheduleState: ScheduleState,
  due: readonly ScheduledRun[],
): Promise<void> {
  const environments = due.slice(0, scheduleRules.together ? due.length : 1).map((slot) => slot.environment);
  const { lastStarts } = scheduleState;
  scheduleState.lastStarts = new Map([...lastStarts, ...environments.map(({ id }) => [id, ports.clock()] as const)]);
  const ran = await outcomeOf(ports, environments);
  if (ports.signal.aborted || ran === null) return;
  const { summary, listed } = ran;
  report(ports, environments, summary);
  if (listed !== null) {
    scheduleState.environments = listed;
    scheduleState.nextListing = addSeconds(ports.clock(), LIST_EVERY_SECONDS);
  } else if (summary.recovery === 'usage' && !(scheduleState.proven && environments.length === 1)) {
    await list(ports, scheduleRules, scheduleState);
    const stay = environments.filter(({ id }) => scheduleState.environments.some((each) => each.id === id));
    // An environment that was just removed is not an error: the others are due as before.
    if (stay.length < environments.length) scheduleState.lastStarts = lastStarts;
    else if (!scheduleState.proven && !ports.signal.aborted)
      throw new SyncError('usage', summary.error ?? 'the run was refused');
  }
  scheduleState.proven ||= summary.recovery !== 'usage';
}

/** @returns null for an unexpected failure: it is logged, and the schedule continues */
async function outcomeOf(ports: SchedulePorts, environments: readonly ListedEnvironment[]): Promise<RunOutcome | null> {
  try {
    return await ports.run(environments);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    ports.log.warn(`${namesOf(environments)}: the run broke off: ${message}`);
    return null;
  }
}

/** Names in a line of the log. */
function namesOf(environments: readonly ListedEnvironment[]): string {
  return environments.length > MOST_NAMED
    ? `${environments.length} environments`
    : environments.map(({ name }) => name).join(', ');
}

const MOST_NAMED = 5;

function report({ log }: SchedulePorts, environments: readonly ListedEnvironment[], summary: RunSummary): void {
  const names = namesOf(environments);
  const { run, status, rows_written, rows_deleted, requests, error } = summary;
  const line = `${names}: run ${run} ended, ${status}: ${rows_written} rows written, ${rows_deleted} deleted, ${requests} requests`;
  if (status === 'done') log.info(line);
  else if (run === null) log.warn(`${names}: ${error}`);
  else log.warn(error === null ? line : `${line}; ${error}`);
}
