import type { SyncError } from '../../src/core/errors.ts';
import type { ListedEnvironment } from '../../src/core/schedule/environments.ts';
import type { ScheduleRules } from '../../src/core/schedule/schedule.ts';
import { type Instant, instantOfMs } from '../../src/core/time/instant.ts';
import { type RunOutcome, runSchedule, type SchedulePorts } from '../../src/sync/run-schedule.ts';
import { nextTick } from '../../src/sync/schedule-cron.ts';
import type { RunSummary } from '../../src/sync/summary.ts';

export const MIDNIGHT = '2026-11-20T00:00:00.000000Z';

export interface World {
  /** The listed environments, by the hours since midnight. May throw. */
  list?: (hours: number) => readonly ListedEnvironment[];
  mirrored?: { environments: readonly ListedEnvironment[]; lastStarts?: Readonly<Record<string, string>> };
  rules?: Partial<ScheduleRules>;
  /** How long a run takes, in seconds. */
  runSeconds?: number;
  /** How a run ends and what it lists; by default `done` and the service's list. */
  ending?: (environments: readonly ListedEnvironment[], hours: number) => Partial<RunSummary> | Error;
  /** The machine is suspended once: at the first wait after `from`, the clock jumps to `to`. */
  asleep?: readonly [from: number, to: number];
  startAt?: string;
  /** When the signal arrives. */
  hours: number;
}

export interface Story {
  /** The time and environments of each run, such as `06:00 prod+test`. */
  readonly runs: readonly string[];
  readonly news: readonly string[];
  readonly warnings: readonly string[];
  readonly listings: readonly string[];
  readonly error: SyncError | null;
  readonly maxAtOnce: number;
  readonly longestNapMs: number;
}

/** Runs a schedule in virtual time, which passes only while it waits or syncs. */
export async function live(world: World): Promise<Story> {
  const start = world.startAt ?? MIDNIGHT;
  let now = Date.parse(start);
  const end = Date.parse(MIDNIGHT) + world.hours * 3_600_000;
  const stop = new AbortController();
  const runs: string[] = [];
  const news: string[] = [];
  const warnings: string[] = [];
  const listings: string[] = [];
  let under = 0;
  let maxAtOnce = 0;
  let longestNapMs = 0;
  let asleep = world.asleep;
  const hours = () => (now - Date.parse(MIDNIGHT)) / 3_600_000;
  const clock = (): Instant => instantOfMs(now);
  const pass = (ms: number) => {
    now += ms;
    if (asleep !== undefined && hours() >= asleep[0]) {
      now = Date.parse(MIDNIGHT) + asleep[1] * 3_600_000;
      asleep = undefined;
    }
    if (now >= end) stop.abort();
  };
  const list = world.list ?? (() => []);
  const ports: SchedulePorts = {
    clock,
    next: nextTick,
    signal: stop.signal,
    log: { info: (line) => void news.push(line), warn: (line) => void warnings.push(line) },
    mirrored: async () => ({
      environments: world.mirrored?.environments ?? [],
      lastStarts: new Map(Object.entries(world.mirrored?.lastStarts ?? {})),
    }),
    async sleep(ms) {
      longestNapMs = Math.max(longestNapMs, ms);
      pass(ms);
    },
    async list() {
      listings.push(clock().slice(11, 16));
      return list(hours());
    },
    async run(environments): Promise<RunOutcome> {
      runs.push(`${clock().slice(11, 16)} ${environments.map(({ id }) => id).join('+')}`);
      maxAtOnce = Math.max(maxAtOnce, ++under);
      await Promise.resolve();
      const ending = world.ending?.(environments, hours()) ?? {};
      pass((world.runSeconds ?? 1) * 1000);
      under--;
      if (ending instanceof Error) throw ending;
      const summary = {
        run: 1,
        status: 'done',
        recovery: null,
        error: null,
        streams: [],
        ...ending,
      } as unknown as RunSummary;
      return { summary, listed: summary.status === 'done' ? list(hours()) : null };
    },
  };
  const rules = { cron: null, delaySeconds: 0, environments: [], together: true, ...world.rules };
  const error = await runSchedule(ports, rules).then(
    () => null,
    (error: SyncError) => error,
  );
  return { runs, news, warnings, listings, error, maxAtOnce, longestNapMs };
}

export const env = (id: string, cron: string | null = null): ListedEnvironment => ({ id, name: `${id}-name`, cron });
export const ran = (...ids: string[]) => Object.fromEntries(ids.map((id) => [id, MIDNIGHT]));

/** A world whose environments are all synced at the start. */
export function synced(...environments: ListedEnvironment[]): Pick<World, 'list' | 'mirrored'> {
  return {
    list: () => environments,
    mirrored: { environments, lastStarts: ran(...environments.map(({ id }) => id)) },
  };
}
