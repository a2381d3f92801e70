import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EMPTY_PAGE } from './api-server.ts';

export interface QuotaServer {
  readonly url: string;
  /** How many requests each window accepted. */
  readonly accepted: readonly number[];
  refused(): number;
  /** Resolves once so many requests have come in all. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * A server that accepts so many requests per window. A window ends so long after its last request was accepted: a slow machine does
 * not change how many a window accepts.
 */
export async function startQuotaServer({ limit, windowMs }: { limit: number; windowMs: number }): Promise<QuotaServer> {
  const accepted: number[] = [];
  const arrivals = new EventTarget();
  const reset = String(Math.ceil(windowMs / 1000));
  let [endMs, refused, received] = [0, 0, 0];
  const server = createServer((_, response) => {
    const nowMs = performance.now();
    if (nowMs >= endMs) {
      endMs = Number.POSITIVE_INFINITY;
      accepted.push(0);
    }
    const used = Number(accepted.at(-1));
    if (used < limit) accepted[accepted.length - 1] = used + 1;
    else refused++;
    if (used === limit - 1) endMs = nowMs + windowMs;
    received++;
    arrivals.dispatchEvent(new Event('request'));
    const remaining = String(limit - Number(accepted.at(-1)));
    const headers = { 'ratelimit-limit': `${limit}`, 'ratelimit-remaining': remaining, 'ratelimit-reset': reset };
    response.writeHead(used < limit ? 200 : 429, { ...headers, 'retry-after': reset });
    response.end(JSON.stringify(EMPTY_PAGE));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accepted,
    refused: () => refused,
    async received(count) {
      while (received < count) await once(arrivals, 'request');
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
