import type { Environment } from './environments.ts';
import { addSeconds, type Instant, secondsBetween } from './instant.ts';
import { wantedOf } from './wanted.ts';

/** The first tick of a cron expression after a moment; null when none comes, or when it is no cron expression. */
export type NextTick = (cron: string, after: Instant) => Instant | null;

/** What was asked of the schedule. */
export interface Rules {
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
export interface Slot {
  readonly environment: Environment;
  readonly cron: string | null;
  /** Null when no run ever is, for want of a cron expression that comes due. */
  readonly due: Instant | null;
}

/** When the last run of each environment began, by its id. */
export type LastStarts = ReadonlyMap<string, Instant>;

export interface Clockwork {
  /** By the machine's clock: a schedule moves no watermark (R1). */
  readonly now: Instant;
  readonly next: NextTick;
}

/**
 * When each environment is due, the earliest first. It is due at the first tick after its last run began: ticks missed
 * since, however many, make one run. One that never ran has been due for ever, and goes first.
 */
export function timetable(
  environments: readonly Environment[],
  rules: Rules,
  lastStarts: LastStarts,
  clockwork: Clockwork,
): Slot[] {
  return wantedOf(environments, rules.environments)
    .chosen.map((environment) => {
      const cron = rules.cron ?? environment.cron;
      const delaySeconds = rules.cron === null ? rules.delaySeconds : 0;
      const lastStart = lastStarts.get(environment.id) ?? null;
      return { environment, cron, due: cron === null ? null : dueAt({ cron, delaySeconds }, lastStart, clockwork) };
    })
    .sort((a, b) => compare(a.due ?? NEVER, b.due ?? NEVER));
}

const NEVER: Instant = '9999';
const ALWAYS: Instant = '0000';

function dueAt(
  { cron, delaySeconds }: { cron: string; delaySeconds: number },
  lastStart: Instant | null,
  { now, next }: Clockwork,
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
export type Turn =
  | { readonly do: 'run'; readonly slots: readonly Slot[] }
  | { readonly do: 'list' }
  | { readonly do: 'wait'; readonly until: Instant };

/** Environments are listed at least so often. */
export const LIST_EVERY_SECONDS = 3600;

/** `slots` as `timetable` sorts them. */
export function turn(slots: readonly Slot[], nextListing: Instant, now: Instant): Turn {
  const due = slots[0]?.due ?? NEVER;
  if (due <= now) return { do: 'run', slots: slots.filter((slot) => slot.due === due) };
  if (nextListing <= now || secondsBetween(now, nextListing) > LIST_EVERY_SECONDS) return { do: 'list' };
  return { do: 'wait', until: due < nextListing ? due : nextListing };
}

/** What a new timetable changes, for the log. */
export interface Change {
  readonly what: 'scheduled' | 'no cron' | 'bad cron' | 'gone';
  readonly slot: Slot;
}

/** Environments that came, went, or are scheduled by another cron expression. */
export function changes(before: readonly Slot[], after: readonly Slot[]): Change[] {
  const old = new Map(before.map((slot) => [slot.environment.id, slot]));
  const news = after.filter((slot) => !sameSchedule(old.get(slot.environment.id), slot));
  const left = new Set(after.map((slot) => slot.environment.id));
  return [
    ...news.map((slot): Change => ({ what: statusOf(slot), slot })),
    ...before.filter((slot) => !left.has(slot.environment.id)).map((slot): Change => ({ what: 'gone', slot })),
  ];
}

function sameSchedule(old: Slot | undefined, slot: Slot): boolean {
  return old !== undefined && old.cron === slot.cron && (old.due === null) === (slot.due === null);
}

function statusOf({ cron, due }: Slot): Change['what'] {
  if (cron === null) return 'no cron';
  return due === null ? 'bad cron' : 'scheduled';
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
