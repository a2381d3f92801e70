import { hash, randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Principal } from './access.ts';
import { memoizeLast } from './memoize-last.ts';
import type { MirrorState } from './mirror-reads.ts';
import { readerNumber } from './visibility.ts';

/** Another process may run with other options and answer differently, so its tags differ. */
const PROCESS = randomBytes(9).toString('base64url');

/** A tag known before reading: it depends on mirror, reader and URL. Weak, because compressed answers share it. */
export function entityTag({ version, now }: MirrorState, reader: Principal, url: string): string {
  return `W/"${hash('sha256', JSON.stringify([PROCESS, version, now, readerNumber(reader), url]), 'base64url')}"`;
}

/** Whether the client has any answer already (`If-None-Match: *`). */
export function hasAnyTag({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['if-none-match']?.trim() === '*';
}

/** Whether the client already has the answer with this tag (`If-None-Match`). */
export function matchesTag(tag: string, { headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const held = headers['if-none-match'];
  if (held === undefined) return false;
  const opaque = tag.slice('W/'.length);
  return held.split(',').some((each) => each.trim().replace(/^W\//, '') === opaque);
}

/** Whether `Accept-Encoding` allows gzip: `gzip` or `*` without `q=0`. */
export const acceptsGzip = memoizeLast((header: string | string[] | undefined): boolean => {
  const given = new Map(
    String(header ?? '')
      .toLowerCase()
      .split(',')
      .map((each): [string, number] => {
        const [coding = '', ...parameters] = each.split(';').map((part) => part.trim());
        const weight = parameters.find((part) => part.startsWith('q='))?.slice('q='.length);
        return [coding, weight === undefined ? 1 : Number(weight)];
      }),
  );
  return (given.get('gzip') ?? given.get('x-gzip') ?? given.get('*') ?? 0) > 0;
});
