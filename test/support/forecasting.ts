import { expect } from 'vitest';
import { instantOfMs } from '../../src/core/time/instant.ts';
import { createDryRunMirror, openForDryRun } from '../../src/destination/sqlite/dry-run.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { type DayForecast, forecast, type OpenForecast, type RunForecast } from '../../src/sync/forecast.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import { RUN_OPTIONS, type TestMirror } from '../model/test-mirror.ts';
import type { World } from '../model/world.ts';

type SyncOptions = NonNullable<Parameters<TestMirror['sync']>[0]>;

interface MirroredWorld {
  readonly world: World;
  readonly mirrored: TestMirror;
}

/** Forecasts the next run with these options. */
export function forecastNextRun(scene: MirroredWorld, options: SyncOptions = {}): Promise<RunForecast> {
  return forecasting(scene, options, async (outlook) => outlook);
}

/** Forecasts the day after the next run with these options. */
export function forecastNextDay(scene: MirroredWorld, options: SyncOptions): Promise<DayForecast | null> {
  return forecasting(scene, options, (outlook) => outlook.rehearseDay());
}

async function forecasting<Result>(
  { world, mirrored }: MirroredWorld,
  { maxRequests = null as never, only, history, signal = new AbortController().signal, ...options }: SyncOptions,
  use: (outlook: OpenForecast) => Promise<Result>,
): Promise<Result> {
  const clock = (): string => instantOfMs(world.nowMs);
  const mirror = openForDryRun(String(mirrored.rows('pragma database_list')[0]?.['file']));
  try {
    const source = world.source();
    const opening = { environments: await source.environments(), times: source.times() };
    const streams = CATALOGUE.filter((s) => (only ? only.includes(s.name) : history || !s.optional));
    const rehearsal = createDryRunMirror(mirror, clock);
    const given = { ...RUN_OPTIONS, ...options, streams, maxRequests };
    return await use(await forecast(rehearsal, opening, given, { clock, signal }));
  } finally {
    mirror.connection.close();
  }
}

/** The next run sends the forecast requests of each stream, or at least those if the forecast says `at_least`. */
export async function expectForecastHolds(
  scene: MirroredWorld,
  options: SyncOptions = {},
): Promise<{ forecast: RunForecast; summary: RunSummary }> {
  const forecast = await forecastNextRun(scene, options);
  const summary = await scene.mirrored.sync(options);
  const atLeast = forecast.streams.map((stream) => stream.at_least);
  expect(partsOf(forecast, atLeast)).toEqual(partsOf(summary, atLeast));
  for (const [i, stream] of forecast.streams.entries())
    expect(stream.requests).toBeLessThanOrEqual(summary.streams[i]?.requests ?? 0);
  return { forecast, summary };
}

interface RunRequests {
  readonly requests: number;
  readonly streams: readonly Omit<RunForecast['streams'][number], 'at_least'>[];
}

function partsOf({ requests, streams }: RunRequests, atLeast: readonly boolean[]): unknown {
  return {
    requests: atLeast.includes(true) ? 'some' : requests,
    streams: streams.map(
      (part, i) =>
        `${part.env_id} ${part.stream}: ${part.mode} (${part.reason}), ${part.status}, ${atLeast[i] ? 'some' : part.requests} requests`,
    ),
  };
}
