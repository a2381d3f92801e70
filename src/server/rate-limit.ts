import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { usageError } from '../core/errors.ts';
import { durationSeconds } from '../core/time/duration.ts';
import { rateLimited } from './errors.ts';
import { networkOf } from './network.ts';

/** Requests per token and window. */
export type RateLimit = NonNullable<ReturnType<typeof parseRateLimit>>;

/** Reads `120/1m`; null for `off`. @throws SyncError `usage` */
export function parseRateLimit(text: string) {
  if (text === 'off') return null;
  const [, limit, count = '1', unit] = /^([1-9]\d{0,8})\/([1-9]\d{0,5})?([smh])$/.exec(text) ?? [];
  const seconds = durationSeconds(`${count}${unit}`);
  if (seconds === null)
    throw usageError(`--rate-limit ${text}: write requests/window, such as 120/1m or 10/1s, or off`);
  return { limit: Number(limit), windowMs: seconds * 1000 };
}

/** Each full period of this length that a read takes counts as one more request. */
const CHARGED_MS = 100;

export type RequestQuota = Awaited<ReturnType<typeof openRateLimit>>;

/** A window starts with its first request. */
export async function openRateLimit(server: FastifyInstance, rate: RateLimit | null) {
  // No promise, because one costs time in every request.
  if (rate === null) return { count: () => undefined, charge: async () => {} };
  await server.register(rateLimit, { global: false, max: rate.limit, timeWindow: rate.windowMs });
  // Tokens and networks have separate stores: otherwise, requests from many addresses would evict the counts of tokens.
  const checkToken = server.createRateLimit({ keyGenerator: ({ reader }) => reader?.name ?? '' });
  const checkStranger = server.createRateLimit({ keyGenerator: ({ ip }) => networkOf(ip) });
  const check = (request: FastifyRequest) => (request.reader === null ? checkStranger(request) : checkToken(request));
  return {
    /**
     * Counts a request against its token or, without a valid token, against the client's network. Sets the quota
     * headers and rejects requests beyond the limit.
     * @throws HttpError 429
     */
    async count(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      const quota = await check(request);
      if (quota.isAllowed) return;
      // The plugin's window may end at this very moment.
      const resetSeconds = Math.max(1, quota.ttlInSeconds);
      reply.headers({
        'ratelimit-limit': quota.max,
        'ratelimit-remaining': quota.remaining,
        'ratelimit-reset': resetSeconds,
      });
      if (!quota.isExceeded) return;
      reply.header('retry-after', resetSeconds);
      throw rateLimited(resetSeconds);
    },
    /** Also charges the time spent reading the answer. The headers of the next request show it. */
    async charge(request: FastifyRequest, cpuMs: number): Promise<void> {
      await Promise.all(Array.from({ length: Math.floor(cpuMs / CHARGED_MS) }, () => check(request)));
    },
  };
}
