import type { Environment } from '../core/environments.ts';
import { SyncError } from '../core/errors.ts';
import { addSeconds, type Instant, secondsBetween } from '../core/instant.ts';
import {
  believable,
  type Change,
  changes,
  type LastStarts,
  LIST_EVERY_SECONDS,
  type NextTick,
  type Rules,
  type Slot,
  timetable,
  turn,
} from '../core/schedule.ts';
import { noSuchEnvironment, wantedOf } from '../core/wanted.ts';
import type { RunSummary } from './summary.ts';

/** What the mirror knows of the environments and of their past runs. */
export interface Mirrored {
  readonly environments: readonly Environment[];
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
  mirrored(): Mirrored;
  /** `GET /environments`. @throws SyncError */
  list(): Promise<readonly Environment[]>;
  /** One run of these environments. */
  run(environments: readonly Environment[]): Promise<Ran>;
  readonly log: { info(line: string): void; warn(line: string): void };
  readonly signal: AbortSignal;
}

export interface Ran {
  readonly summary: RunSummary;
  /** The environments that the run has listed; null when it did not get so far. */
  readonly listed: readonly Environment[] | null;
}

/**
 * Syncs each environment whenever it is due, one run at a time, until a signal comes. A run that fails is tried again at
 * its next tick. @throws SyncError when what was asked for can never work
 */
export async function runSchedule(ports: SchedulePorts, rules: Rules): Promise<void> {
  const mirrored = ports.mirrored();
  const schedule: Schedule = {
    environments: mirrored.environments,
    lastStarts: mirrored.lastStarts,
    slots: [],
    nextListing: ports.clock(),
    listed: false,
    proven: false,
  };
  await list(ports, rules, schedule);
  while (!ports.signal.aborted) {
    const now = ports.clock();
    retime(ports, rules, schedule, now);
    const next = turn(schedule.slots, schedule.nextListing, now);
    if (next.do === 'run') await runDue(ports, rules, schedule, next.slots);
    else if (next.do === 'list') await list(ports, rules, schedule);
    else await ports.sleep(Math.min(secondsBetween(now, next.until), NAP_SECONDS) * 1000);
  }
}

/** No sleep is longer: a machine that slept itself, or whose clock was set, is soon on time again. */
const NAP_SECONDS = 60;

/** After this long a listing that failed is tried again while no environment is known. */
const LIST_AGAIN_SECONDS = 60;

interface Schedule {
  environments: readonly Environment[];
  lastStarts: LastStarts;
  slots: readonly Slot[];
  nextListing: Instant;
  /** The environments have been listed since the start. */
  listed: boolean;
  /** A run has got past what a wrong configuration ends. */
  proven: boolean;
}

function retime({ next, log }: SchedulePorts, rules: Rules, schedule: Schedule, now: Instant): void {
  schedule.lastStarts = believable(schedule.lastStarts, now);
  const slots = timetable(schedule.environments, rules, schedule.lastStarts, { now, next });
  for (const change of changes(schedule.slots, slots)) {
    if (change.what === 'scheduled') log.info(sentence(change, now));
    else log.warn(sentence(change, now));
  }
  schedule.slots = slots;
}

function sentence({ what, slot: { environment, cron, due } }: Change, now: Instant): string {
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

/** Looks which environments there are. Only the first listing may end the schedule. */
async function list(ports: SchedulePorts, rules: Rules, schedule: Schedule): Promise<void> {
  try {
    schedule.environments = await ports.list();
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    if (ports.signal.aborted) return;
    if (!schedule.listed && isHopeless(error)) throw error;
    const seconds = schedule.environments.length === 0 ? LIST_AGAIN_SECONDS : LIST_EVERY_SECONDS;
    ports.log.warn(`${error.message} The environments are listed again in ${seconds / 60} min.`);
    schedule.nextListing = addSeconds(ports.clock(), seconds);
    return;
  }
  schedule.nextListing = addSeconds(ports.clock(), LIST_EVERY_SECONDS);
  if (!schedule.listed) refuseNothing(ports, rules, schedule);
  schedule.listed = true;
}

/** A configuration that is wrong, or a token that is refused. */
function isHopeless({ recovery }: SyncError): boolean {
  return recovery === 'usage' || recovery === 'token';
}

function refuseNothing(ports: SchedulePorts, rules: Rules, schedule: Schedule): void {
  const { unknown } = wantedOf(schedule.environments, rules.environments);
  if (unknown.length > 0) throw noSuchEnvironment(unknown, schedule.environments);
  retime(ports, rules, schedule, ports.clock());
  if (schedule.slots.every((slot) => slot.due === null)) {
    throw new SyncError('usage', 'there is nothing to schedule: give a cron expression with --cron');
  }
}

async function runDue(ports: SchedulePorts, rules: Rules, schedule: Schedule, due: readonly Slot[]): Promise<void> {
  const environments = due.slice(0, rules.together ? due.length : 1).map((slot) => slot.environment);
  const { lastStarts } = schedule;
  schedule.lastStarts = new Map([...lastStarts, ...environments.map(({ id }) => [id, ports.clock()] as const)]);
  const ran = await outcomeOf(ports, environments);
  if (ports.signal.aborted || ran === null) return;
  const { summary, listed } = ran;
  report(ports, environments, summary);
  if (listed !== null) {
    schedule.environments = listed;
    schedule.nextListing = addSeconds(ports.clock(), LIST_EVERY_SECONDS);
  } else if (summary.recovery === 'usage' && !(schedule.proven && environments.length === 1)) {
    await list(ports, rules, schedule);
    const stay = environments.filter(({ id }) => schedule.environments.some((each) => each.id === id));
    // One that has just gone is nobody's fault: the others are due as they were.
    if (stay.length < environments.length) schedule.lastStarts = lastStarts;
    else if (!schedule.proven && !ports.signal.aborted)
      throw new SyncError('usage', summary.error ?? 'the run was refused');
  }
  schedule.proven ||= summary.recovery !== 'usage';
}

/** @returns null for a failure that no run foresees: it is logged, and the schedule goes on */
async function outcomeOf(ports: SchedulePorts, environments: readonly Environment[]): Promise<Ran | null> {
  try {
    return await ports.run(environments);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    ports.log.warn(`${namesOf(environments)}: the run broke off: ${message}`);
    return null;
  }
}

/** Names in a line of the log. */
function namesOf(environments: readonly Environment[]): string {
  return environments.length > MOST_NAMED
    ? `${environments.length} environments`
    : environments.map(({ name }) => name).join(', ');
}

const MOST_NAMED = 5;

function report({ log }: SchedulePorts, environments: readonly Environment[], summary: RunSummary): void {
  const names = namesOf(environments);
  const { run, status, rows_written, rows_deleted, requests, error } = summary;
  const line = `${names}: run ${run} ended, ${status}: ${rows_written} rows written, ${rows_deleted} deleted, ${requests} requests`;
  if (status === 'done') log.info(line);
  else if (run === null) log.warn(`${names}: ${error}`);
  else log.warn(error === null ? line : `${line}; ${error}`);
}
