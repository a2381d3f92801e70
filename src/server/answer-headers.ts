import type { FastifyInstance, FastifyReply, onSendHookHandler } from 'fastify';
import { addressTooLong, badRequest } from './errors.ts';
import { memoizeLast } from './memoize-last.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';

/** The directives that `default-src` does not cover: no framing, no form submission. */
export const PAGE_POLICY = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Browsers must not guess another content type, nor send the page's address to other hosts. */
export const COMMON_HEADERS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };

const MAX_ADDRESS_CHARACTERS = 256 * 1024;

/** Sets the headers of answers. Rejects requests without exactly one host, or with a long address (RFC 9112). */
export function addAnswerHeaders(server: FastifyInstance): void {
  server.addHook('onRequest', ({ raw, url }, reply, done) => {
    reply.headers(COMMON_HEADERS);
    if (!namesOneHost(raw)) return done(badRequest('The request must have exactly one Host header'));
    done(url.length > MAX_ADDRESS_CHARACTERS ? addressTooLong() : undefined);
  });
}

/** A 304 must have no length but that of the 200 (RFC 9110, 8.6), and Fastify gives answers to HEAD a length of 0. */
export function dropLengthOf304(server: FastifyInstance): void {
  server.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') return;
    const dropLength: onSendHookHandler = (_request, reply, payload, done) => {
      if (reply.statusCode === 304) reply.removeHeader('content-length');
      done(null, payload);
    };
    route.onSend = [route.onSend ?? [], dropLength].flat();
  });
}

/** HTTP/1.0 has no `Host`. */
function namesOneHost({ httpVersion, rawHeaders }: { httpVersion: string; rawHeaders: readonly string[] }): boolean {
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/** The time with microseconds. Unlike `Date`, no proxy replaces it. */
export const TIME_HEADER = 'Obsync-Mirrored-At';

/** Both headers hold the time of the state shown, so a reader who continues from it misses nothing. */
export function setDateHeader(reply: FastifyReply, { now }: Pick<MirrorSnapshot, 'now'>): void {
  reply.headers(headersOf(now));
}

const headersOf = memoizeLast((now: MirrorSnapshot['now']) => ({
  date: new Date(now).toUTCString(),
  [TIME_HEADER]: now,
}));
