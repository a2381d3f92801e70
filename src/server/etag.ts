import { hash, randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Principal } from './access.ts';
import type { MirrorState } from './mirror-reads.ts';
import { numberOf } from './visibility.ts';

/** Tags of another process, which may have been told to answer otherwise, are those of other answers. */
const PROCESS = randomBytes(9).toString('base64url');

/**
 * The tag of an answer, known before anything is read: an answer depends on the state of the mirror, on who asks and on what for, and
 * never on the time of day. Weak, as it is the same whether or not the answer is compressed.
 */
export function entityTag(
  { version, now }: Pick<MirrorState, 'version' | 'now'>,
  principal: Principal,
  url: string,
): string {
  return `W/"${hash('sha256', JSON.stringify([PROCESS, version, now, numberOf(principal), url]), 'base64url')}"`;
}

/** Whether the one who asks has the answer of that tag (`If-None-Match`) already. `*` is none of its tags. */
export function isHeld(tag: string, { headers }: Pick<FastifyRequest, 'headers'>): boolean {
  const held = headers['if-none-match'];
  if (held === undefined) return false;
  const opaque = tag.slice('W/'.length);
  return held.split(',').some((each) => each.trim().replace(/^W\//, '') === opaque);
}

/** Whether a header `Accept-Encoding` takes gzip: `gzip`, or `*`, but at no `q=0`. */
export function takesGzip(header: string | string[] | undefined): boolean {
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
}
