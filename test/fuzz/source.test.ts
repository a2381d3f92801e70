import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import {
  decodeEnvelope,
  decodeEnvironments,
  decodeError,
  decodeMatchedCount,
  parseJson,
} from '../../src/source/envelope.ts';
import { ASSETS, openSource, TOKEN, virtualTime } from '../source/setup.ts';
import { type Step, startApiServer } from '../support/api-server.ts';
import { oddValues, rarely } from './garble.ts';
import { oddHeaders } from './odd-headers.ts';
import { LONG, tries } from './runs.ts';

/** Bodies of every kind, valid or nearly so. */
const bodies = fc.oneof(
  oddValues,
  fc.record({ items: fc.array(oddValues), has_more: oddValues, next_cursor: oddValues }, { requiredKeys: ['items'] }),
  fc.record(
    { items: fc.array(oddValues), has_more: fc.boolean(), next_cursor: fc.string() },
    { requiredKeys: ['items'] },
  ),
  fc.record({ error: fc.record({ code: oddValues, message: oddValues }, { requiredKeys: [] }) }),
  fc.record({
    error: fc.record({
      code: fc.constantFrom('invalid_cursor', 'not_found', TOKEN),
      message: fc.constant(`\n${TOKEN}`),
    }),
  }),
  fc.record({ matched_count: oddValues }),
);

type Blow = { readonly at: number; readonly to: number };
const blows = rarely(fc.array(fc.record({ at: fc.nat(400), to: fc.nat(255) }), { minLength: 1, maxLength: 3 })).map(
  (struck) => struck ?? [],
);
const cuts = rarely(fc.nat(60));

/** The bytes with some changes, truncated somewhere. */
function damaged(bytes: Buffer, struck: readonly Blow[], cut: number | null): Buffer {
  const copy = Buffer.from(bytes);
  for (const { at, to } of struck) if (copy.length > 0) copy[at % copy.length] = to;
  return cut === null ? copy : copy.subarray(0, Math.max(0, copy.length - cut));
}

const bytes = fc.oneof(
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 80 }).map((array) => Buffer.from(array)) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(bodies, blows, cuts)
      .map(([body, struck, cut]) => damaged(Buffer.from(JSON.stringify(body)), struck, cut)),
  },
);

test('any body decodes to an envelope or to null (R8)', LONG, () => {
  fc.assert(
    fc.property(bytes, (body) => {
      const json = parseJson(body);
      const page = decodeEnvelope(json);
      if (page !== null) {
        expect(Object.keys(page)).toEqual(['items', 'hasMore', 'nextCursor']);
        expect([Array.isArray(page.items), typeof page.hasMore]).toEqual([true, 'boolean']);
        if (page.nextCursor !== null) expect(page.nextCursor).toMatch(/./s);
      }
      expect(Array.isArray(decodeEnvironments(json)?.items ?? [])).toBe(true);
      const count = decodeMatchedCount(json) ?? 0;
      expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
      const { code, message } = decodeError(json) ?? { code: '', message: '' };
      expect([typeof code, typeof message]).toEqual(['string', 'string']);
    }),
    tries(800),
  );
});

const PACK: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: (body) => gzipSync(body),
  'X-GZIP ': (body) => gzipSync(body),
  br: (body) => brotliCompressSync(body),
  deflate: (body) => deflateSync(body),
  identity: (body) => body,
  zstd: (body) => body,
  'gzip, gzip': (body) => gzipSync(gzipSync(body)),
};

const STATUSES = [
  200, 200, 200, 200, 201, 204, 206, 300, 302, 304, 400, 401, 403, 404, 410, 422, 429, 429, 500, 503, 599,
];

const replies = fc
  .record({
    status: fc.constantFrom(...STATUSES),
    headers: oddHeaders,
    type: fc.constantFrom('application/json', 'text/html', `x/${TOKEN}`, ''),
    location: fc.constantFrom('', 'http://[', '//x/../y', `/${TOKEN}`, 'javascript:1'),
    encoding: rarely(fc.constantFrom(...Object.keys(PACK))),
    body: bytes,
    struck: blows,
    cut: rarely(fc.nat(30)),
    liesWith: rarely(fc.constantFrom(...Object.keys(PACK))),
  })
  .map(({ encoding, liesWith, struck, cut, body, headers, type, location, status }): Step => {
    const packed = encoding === null ? body : (PACK[encoding] as (body: Buffer) => Buffer)(body);
    const named = liesWith ?? encoding;
    return {
      status,
      headers: { ...headers, 'content-type': type, location, ...(named === null ? {} : { 'content-encoding': named }) },
      body: damaged(packed, struck, cut),
    };
  });

const scripts = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: replies },
    { weight: 1, arbitrary: fc.constant<Step>('reset') },
    {
      weight: 1,
      arbitrary: replies.map(
        (step): Step => (typeof step === 'object' && !('truncate' in step) ? { truncate: step } : step),
      ),
    },
  ),
  { minLength: 1, maxLength: 5 },
);

test(
  'whatever the server answers, a call returns its result or throws a one-line SyncError (R23, R24, R25)',
  LONG,
  async () => {
    const server = await startApiServer();
    try {
      await fc.assert(
        fc.asyncProperty(scripts, async (steps) => {
          server.script(...steps);
          const time = virtualTime();
          const source = openSource(server.url, { ...time, retries: 2, maxWaitMs: 20_000, concurrency: 2 });
          const calls = [source.environments(), source.page(ASSETS), source.matchedCount(ASSETS), source.page(ASSETS)];
          const ends = await Promise.allSettled(calls);
          await source.close();
          for (const end of ends) {
            if (end.status === 'fulfilled') continue;
            expect(end.reason).toBeInstanceOf(SyncError);
            expect(end.reason.message).toMatch(/^[^\n\r]+$/);
            expect(end.reason.message).not.toContain(TOKEN);
          }
          expect(source.times().serverTime ?? '2026-11-20T04:10:00.000000Z').toMatch(
            /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000000Z$/,
          );
          for (const delayMs of time.slept) expect(delayMs >= 0 && delayMs <= 30_000).toBe(true);
        }),
        tries(60),
      );
    } finally {
      await server.close();
    }
  },
);
