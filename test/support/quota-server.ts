import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EMPTY_PAGE } from './api-server.ts';

/** The quota of an account, as the service counts it. */
export interface CountedQuota {
  /** How many requests each window accepted. */
  readonly accepted: readonly number[];
  refused(): number;
  /** Counts a request. @returns the response */
  take(): { readonly status: 200 | 429; readonly headers: Readonly<Record<string, string>> };
}

/** Accepts `limit` requests per window. */
interface QuotaWindow {
  readonly limit: number;
  readonly windowMs: number;
  /**
   * Fixed: a window ends `windowMs` after it began. Otherwise it ends `windowMs` after its last accepted request, so a
   * slow machine does not change how many requests a window accepts; an unused window then ends later than announced.
   */
  readonly isFixed?: boolean;
}

export function countQuota({ limit, windowMs, isFixed = false }: QuotaWindow): CountedQuota {
  const accepted: number[] = [];
  let [endMs, refused] = [0, 0];
  return {
    accepted,
    refused: () => refused,
    take() {
      const nowMs = performance.now();
      if (nowMs >= endMs) {
        endMs = isFixed ? nowMs + windowMs : Number.POSITIVE_INFINITY;
        accepted.push(0);
      }
      const used = Number(accepted.at(-1));
      if (used < limit) accepted[accepted.length - 1] = used + 1;
      else refused++;
      if (used === limit - 1 && !isFixed) endMs = nowMs + windowMs;
      const reset = String(Math.ceil((isFixed ? endMs - nowMs : windowMs) / 1000));
      const remaining = String(limit - Number(accepted.at(-1)));
      const headers = { 'ratelimit-limit': `${limit}`, 'ratelimit-remaining': remaining, 'ratelimit-reset': reset };
      return { status: used < limit ? 200 : 429, headers: { ...headers, 'retry-after': reset } };
    },
  };
}

export interface QuotaServer {
  readonly url: string;
  /** How many requests each window accepted. */
  readonly accepted: readonly number[];
  refused(): number;
  /** Resolves once this many requests were received in total. */
  received(count: number): Promise<void>;
  close(): Promise<void>;
}

/** A server with a quota and empty responses. */
export async function startQuotaServer(quota: QuotaWindow): Promise<QuotaServer> {
  const { accepted, refused, take } = countQuota(quota);
  const arrivals = new EventTarget();
  let received = 0;
  const server = createServer((_, response) => {
    const { status, headers } = take();
    received++;
    arrivals.dispatchEvent(new Event('request'));
    response.writeHead(status, headers);
    response.end(JSON.stringify(EMPTY_PAGE));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accepted,
    refused,
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
