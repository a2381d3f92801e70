import { addSeconds, type Instant, secondsBetween } from '../time/instant.ts';
import type { ListedEnvironment } from './environments.ts';
import { wantedOf } from './wanted-environments.ts';

/** The first tick of a cron expression after a moment; null if there is none or the expression is invalid. */
export type NextTick = (cron: string, after: Instant) => Instant | null;

export interface ScheduleRules {
  /** A cron expression for all environments, replacing their own. */
  readonly cron: string | null;
  /** How many seconds after a tick of the environment's own cron a run is due, because the service syncs first. */
  readonly delaySeconds: number;
  /** Ids or names; all environments when empty. */
  readonly environments: readonly string[];
  /** Whether one run syncs all environments due at the same moment, so it lists them only once (R22). */
  readonly together: boolean;
}

export interface ScheduledRun {
  readonly environment: ListedEnvironment;
  readonly cron: string | null;
  /** Null if no run is ever due: the cron expression is missing or has no tick. */
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
 * When each environment is due, earliest first. It is due at the first tick after its last run began; missed ticks make
 * one run. An environment that never ran comes first.
 */
export function timetable(
  environments: readonly ListedEnvironment[],
  rules: ScheduleRules,
  starts: LastStarts,
  { now, next }: ScheduleClock,
): ScheduledRun[] {
  return wantedOf(environments, rules.environments)
    .chosen.map((environment) => {
      const cron = rules.cron ?? environment.cron;
      const delaySeconds = rules.cron === null ? rules.delaySeconds : 0;
      const lastStart = starts.get(environment.id) ?? null;
      const tick = cron === null ? null : next(cron, addSeconds(lastStart ?? now, -delaySeconds));
      if (tick === null) return { environment, cron, due: null };
      return { environment, cron, due: lastStart === null ? ALWAYS : addSeconds(tick, delaySeconds) };
    })
    .sort((a, b) => compare(a.due ?? NEVER, b.due ?? NEVER));
}

const NEVER: Instant = '9999';
const ALWAYS: Instant = '0000';

/** Since when an environment is due, or when it will be. It stays due since then, however often that is computed. */
export function dueSince(scheduled: Instant | null, before: Instant | null, now: Instant): Instant | null {
  if (scheduled === null || scheduled > now) return scheduled;
  return before !== null && before <= now ? before : now;
}

/** Moves starts in the future to `now`: otherwise environments wait for long after the clock was set back. */
export function capAtNow(starts: LastStarts, now: Instant): LastStarts {
  return new Map([...starts].map(([id, start]) => [id, start > now ? now : start]));
}

/** What comes next: run what is due, list the environments, or wait. */
export type ScheduleStep =
  | { readonly do: 'run'; readonly due: readonly ScheduledRun[] }
  | { readonly do: 'list' }
  | { readonly do: 'wait'; readonly until: Instant };

/** The longest time between two listings of the environments, in seconds. */
export const LIST_EVERY_SECONDS = 3600;

/** `timetable` is sorted by time. */
export function nextScheduleStep(timetable: readonly ScheduledRun[], nextListing: Instant, now: Instant): ScheduleStep {
  const earliest = timetable[0]?.due ?? NEVER;
  if (earliest <= now) return { do: 'run', due: timetable.filter(({ due }) => due === earliest) };
  if (nextListing <= now || secondsBetween(now, nextListing) > LIST_EVERY_SECONDS) return { do: 'list' };
  return { do: 'wait', until: earliest < nextListing ? earliest : nextListing };
}

/** A change from one timetable to the next, for the log. */
export interface TimetableChange {
  readonly what: 'scheduled' | 'no cron' | 'bad cron' | 'gone';
  readonly scheduledRun: ScheduledRun;
}

/** The environments that were added or removed, or whose cron expression changed. */
export function timetableChanges(before: readonly ScheduledRun[], after: readonly ScheduledRun[]): TimetableChange[] {
  const earlier = new Map(before.map((each) => [each.environment.id, each]));
  const present = new Set(after.map((each) => each.environment.id));
  const changed = after.filter((each) => !sameSchedule(earlier.get(each.environment.id), each));
  const gone = before.filter((each) => !present.has(each.environment.id));
  return [
    ...changed.map((each): TimetableChange => ({ what: statusOf(each), scheduledRun: each })),
    ...gone.map((each): TimetableChange => ({ what: 'gone', scheduledRun: each })),
  ];
}

function sameSchedule(old: ScheduledRun | undefined, run: ScheduledRun): boolean {
  return old !== undefined && old.cron === run.cron && (old.due === null) === (run.due === null);
}

function statusOf({ cron, due }: ScheduledRun): TimetableChange['what'] {
  if (cron === null) return 'no cron';
  return due === null ? 'bad cron' : 'scheduled';
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
