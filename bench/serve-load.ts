import autocannon from 'autocannon';
import { median, quantile } from './figures.ts';
import { MASTER, ROOT, type Serving } from './serve-process.ts';

export interface Measured {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** CPU time per request, user and system, of the process under load. */
  readonly cpuMs: number;
}

interface Load {
  readonly paths: readonly string[];
  readonly connections: number;
  readonly seconds: number;
}

/** Throughput for a while, each connection sending the next request as soon as the last one is answered. */
export async function loadOf(serving: Serving, load: Load): Promise<Measured> {
  await press(serving, { ...load, seconds: 1 });
  const before = serving.cpuMs();
  const { tookMs, seconds } = await press(serving, load);
  return {
    perSecond: tookMs.length / seconds,
    p99Ms: quantile(tookMs, 0.99),
    cpuMs: (serving.cpuMs() - before) / tookMs.length,
  };
}

function press(
  { baseUrl }: Serving,
  { paths, connections, seconds }: Load,
): Promise<{ tookMs: number[]; seconds: number }> {
  const tookMs: number[] = [];
  return new Promise((resolve, reject) => {
    const options = {
      url: baseUrl,
      connections,
      duration: seconds,
      headers: { authorization: `Bearer ${MASTER}` },
      requests: paths.map((path) => ({ path: ROOT + path })),
    };
    const instance = autocannon(options, (error, { errors, non2xx, duration }) => {
      if (error !== null || errors + non2xx > 0) reject(error ?? new Error(`${errors} errors, ${non2xx} refusals`));
      else resolve({ tookMs, seconds: duration });
    });
    instance.on('response', (_client, _status, _bytes, ms: number) => tookMs.push(ms));
  });
}

const TIMES = 7;

/** The latency of a repeated request without other load, and the longest time that it blocks the main thread. */
export async function timeOf(
  serving: Serving,
  path: string,
  token?: string,
): Promise<{ firstMs: number; medianMs: number; blockedMs: number; maxBlockedMs: number }> {
  const tookMs: number[] = [];
  const blockedMs: number[] = [];
  await serving.blockedMs();
  for (let i = 0; i < TIMES; i += 1) {
    const start = performance.now();
    const answer = await serving.get(path, token);
    await answer.arrayBuffer();
    if (!answer.ok && answer.status !== 404) throw new Error(`${answer.status} for ${path}`);
    tookMs.push(performance.now() - start);
    blockedMs.push(await serving.blockedMs());
  }
  return {
    firstMs: tookMs[0] ?? Number.NaN,
    medianMs: median(tookMs),
    blockedMs: median(blockedMs),
    maxBlockedMs: Math.max(...blockedMs),
  };
}
