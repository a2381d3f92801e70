import { createHash, timingSafeEqual } from 'node:crypto';

export interface RateLimit {
  /** Requests in a window. */
  readonly limit: number;
  readonly windowSeconds: number;
}

/** What the RateLimit headers tell. */
export interface Quota {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
  readonly exceeded: boolean;
}

/** Whether the `Authorization` header carries the token; the comparison takes as long whatever it holds. */
export function bears(token: string, header: string | undefined): boolean {
  const [, given = ''] = /^bearer +(\S+) *$/i.exec(header ?? '') ?? [];
  return timingSafeEqual(digest(given), digest(token));
}

/** Counts requests in windows of fixed length, each opened by its first request. A request without a token costs none. */
export function openQuota({ limit, windowSeconds }: RateLimit): (nowMs: number, costs: boolean) => Quota {
  let openedMs = Number.NEGATIVE_INFINITY;
  let used = 0;
  return (nowMs, costs) => {
    if (nowMs < openedMs || nowMs >= openedMs + windowSeconds * 1000) {
      openedMs = nowMs;
      used = 0;
    }
    const exceeded = costs && used >= limit;
    if (costs && !exceeded) used += 1;
    const resetSeconds = Math.max(1, Math.ceil((openedMs - nowMs) / 1000 + windowSeconds));
    return { limit, remaining: limit - used, resetSeconds, exceeded };
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
