import type { FastifyInstance } from 'fastify';
import { badRequest } from './errors.ts';

/** The rest of the policy of a page, which `default-src` does not cover: it is shown in no frame and sends no form. */
export const PAGE_POLICY = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A browser takes no answer for another type than it has, and tells no other host the address of a page. */
export const COMMON_HEADERS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };

/** Sets the headers that every answer has, and refuses a request that does not name one host (RFC 9112, 3.2). */
export function addAnswerHeaders(server: FastifyInstance): void {
  server.addHook('onRequest', ({ raw }, reply, done) => {
    reply.headers(COMMON_HEADERS);
    done(namesOneHost(raw) ? undefined : badRequest('The request has to name its host in one header, Host'));
  });
}

/** HTTP/1.0 knows no `Host`. */
function namesOneHost({ httpVersion, rawHeaders }: { httpVersion: string; rawHeaders: readonly string[] }): boolean {
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}
