import type { ListedEnvironment } from './environments.ts';
import { addSeconds, type Instant, secondsBetween } from './instant.ts';
import { wantedOf } from './wanted-environments.ts';

/** The first tick of a cron expression after a moment; null when none comes, or when it is no cron expression. */
export type NextTick = (cron: string, after: Instant) => Instant | null;

/** What was asked of the schedule. */
export interface ScheduleRules {
  /** For every environment, in place of its own. */
  readonly cron: string | null;
  /** A run is due so long after a tick of its environment's own cron: the service syncs first. */
  readonly delaySeconds: number;
  /** Ids or names; all environments when empty. */
  readonly environments: readonly string[];
  /** Environments that are due at the same moment are synced by one run, which lists them once (R22). */
  readonly together: boolean;
}

/** An environment and when its next run is due. */
export interface ScheduledRun {
  readonly environment: ListedEnvironment;
  readonly cron: string | null;
  /** Null when no run ever is, for want of a cron expression that comes due. */
  readonly due: Instant | null;
}

/** When the last run of each environment began, by its id. */
export type LastStarts = ReadonlyMap<string, Instant>;

export interface ScheduleClock {
  /** By the machine's clock: a schedule moves no watermark (R1). */
  readonly now: Instant;
  readonly next: NextTick;
}

/**
 * When each environment is due, the earliest first. It is due at the first tick after its last run began: ticks missed
 * since, however many, make one run. One that never ran has been due for ever, and goes first.
 */
export function timetable(
  environments: readonly ListedEnvironment[],
  scheduleRules: ScheduleRules,
  lastStarts: LastStarts,
  scheduleClock: ScheduleClock,
): ScheduledRun[] {
  return wantedOf(environments, scheduleRules.environments)
    .chosen.map((environment) => {
      const cron = scheduleRules.cron ?? environment.cron;
      const delaySeconds = scheduleRules.cron === null ? scheduleRules.delaySeconds : 0;
      const lastStart = lastStarts.get(environment.id) ?? null;
      return { environment, cron, due: cron === null ? null : dueAt({ cron, delaySeconds }, lastStart, scheduleClock) };
    })
    .sort((a, b) => compare(a.due ?? NEVER, b.due ?? NEVER));
}

const NEVER: Instant = '9999';
const ALWAYS: Instant = '0000';

function dueAt(
  { cron, delaySeconds }: { cron: string; delaySeconds: number },
  lastStart: Instant | null,
  { now, next }: ScheduleClock,
): Instant | null {
  const tick = next(cron, addSeconds(lastStart ?? now, -delaySeconds));
  if (tick === null) return null;
  return lastStart === null ? ALWAYS : addSeconds(tick, delaySeconds);
}

/** A clock that was set back would else hold an environment up until it has caught up. */
export function believable(lastStarts: LastStarts, now: Instant): LastStarts {
  return new Map([...lastStarts].map(([id, start]) => [id, start > now ? now : start]));
}

/** What comes next: run what is due, look which environments there are, or wait. */
export type ScheduleStep =
  | { readonly do: 'run'; readonly slots: readonly ScheduledRun[] }
  | { readonly do: 'list' }
  | { readonly do: 'wait'; readonly until: Instant };

/** Environments are listed at least so often. */
export const LIST_EVERY_SECONDS = 3600;

/** `slots` as `timetable` sorts them. */
export function nextScheduleStep(slots: readonly ScheduledRun[], nextListing: Instant, now: Instant): ScheduleStep {
  const due = slots[0]?.due ?? NEVER;
  if (due <= now) return { do: 'run', slots: slots.filter((slot) => slot.due === due) };
  if (nextListing <= now || secondsBetween(now, nextListing) > LIST_EVERY_SECONDS) return { do: 'list' };
  return { do: 'wait', until: due < nextListing ? due : nextListing };
}

/** What a new timetable changes, for the log. */
export interface TimetableChange {
  readonly what: 'scheduled' | 'no cron' | 'bad cron' | 'gone';
  readonly slot: ScheduledRun;
}

/** Environments that came, went, or are scheduled by another cron expression. */
export function timetableChanges(before: readonly ScheduledRun[], after: readonly ScheduledRun[]): TimetableChange[] {
  const old = new Map(before.map((slot) => [slot.environment.id, slot]));
  const news = after.filter((slot) => !sameSchedule(old.get(slot.environment.id), slot));
  const left = new Set(after.map((slot) => slot.environment.id));
  return [
    ...news.map((slot): TimetableChange => ({ what: statusOf(slot), slot })),
    ...before.filter((slot) => !left.has(slot.environment.id)).map((slot): TimetableChange => ({ what: 'gone', slot })),
  ];
}

function sameSchedule(old: ScheduledRun | undefined, scheduledRun: ScheduledRun): boolean {
  return old !== undefined && old.cron === scheduledRun.cron && (old.due === null) === (scheduledRun.due === null);
}

function statusOf({ cron, due }: ScheduledRun): TimetableChange['what'] {
  if (cron === null) return 'no cron';
  return due === null ? 'bad cron' : 'scheduled';
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
