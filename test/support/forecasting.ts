import { expect } from 'vitest';
import { instantOfMs } from '../../src/core/time/instant.ts';
import { createDryRunMirror, openForDryRun } from '../../src/destination/sqlite/dry-run.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { forecast, type RunForecast } from '../../src/sync/forecast.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import type { TestMirror } from '../model/test-mirror.ts';
import type { World } from '../model/world.ts';

type Wish = NonNullable<Parameters<TestMirror['sync']>[0]>;

interface Mirroring {
  readonly world: World;
  readonly mirrored: TestMirror;
}

const OPTIONS = {
  baseUrl: 'http://world.test',
  full: false,
  fullEveryDays: 7,
  overlapSeconds: 3600,
  pageSize: 2000,
  allowShrink: false,
  catalogue: CATALOGUE,
  environments: [],
  concurrency: 2,
};

/** What the next run of a world's mirror, told the same, is expected to take. */
export async function foretold(
  { world, mirrored }: Mirroring,
  { maxRequests = null as never, only, history, signal: _, ...options }: Wish = {},
): Promise<RunForecast> {
  const clock = (): string => instantOfMs(world.nowMs);
  const mirror = openForDryRun(String(mirrored.rows('pragma database_list')[0]?.['file']));
  try {
    const source = world.source();
    const opening = { environments: await source.environments(), times: source.times() };
    const streams = CATALOGUE.filter((s) => (only ? only.includes(s.name) : history || !s.optional));
    const rehearsal = createDryRunMirror(mirror, clock);
    const ports = { clock, signal: new AbortController().signal };
    return await forecast(rehearsal, opening, { ...OPTIONS, ...options, streams, maxRequests }, ports);
  } finally {
    mirror.connection.close();
  }
}

/** What the next run sends is what was foretold of it, stream by stream; at least that, where it was said so. */
export async function expectForetold(
  scene: Mirroring,
  wish: Wish = {},
): Promise<{ forecast: RunForecast; summary: RunSummary }> {
  const forecast = await foretold(scene, wish);
  const summary = await scene.mirrored.sync(wish);
  const atLeast = forecast.streams.map((stream) => stream.at_least);
  expect(partsOf(forecast, atLeast)).toEqual(partsOf(summary, atLeast));
  for (const [i, stream] of forecast.streams.entries())
    expect(stream.requests).toBeLessThanOrEqual(summary.streams[i]?.requests ?? 0);
  return { forecast, summary };
}

interface Told {
  readonly requests: number;
  readonly streams: readonly Omit<RunForecast['streams'][number], 'at_least'>[];
}

function partsOf({ requests, streams }: Told, atLeast: readonly boolean[]): unknown {
  return {
    requests: atLeast.includes(true) ? 'some' : requests,
    streams: streams.map(
      (part, i) =>
        `${part.env_id} ${part.stream}: ${part.mode} (${part.reason}), ${part.status}, ${atLeast[i] ? 'some' : part.requests} requests`,
    ),
  };
}
