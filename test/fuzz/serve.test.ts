import { type AddressInfo, connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assets } from '../../schema/assets.ts';
import { asset, insert, serve } from '../server/fixture.ts';
import { OPERATIONS } from '../server/operations.ts';
import { expectRefusal, serveSmallWorld } from '../server/refusal.ts';
import { LONG, tries } from './runs.ts';

const world = serveSmallWorld();
const { server } = world;
const other = serve(({ db }) => insert(db, assets, asset('a'), asset('b')));

const ADMITTED = { authorization: 'Bearer secret' };

/** The statuses of refused requests, and their codes. */
const REFUSALS: Readonly<Record<number, readonly string[]>> = {
  400: ['invalid_request', 'invalid_cursor'],
  401: ['unauthenticated'],
  403: ['permission_denied'],
  404: ['not_found'],
  405: ['method_not_allowed'],
  414: ['invalid_request'],
  422: ['invalid_request'],
  431: ['invalid_request'],
};

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type: string;
}

function expectAnswer({ status, body, type }: Answer): void {
  const codes = REFUSALS[status];
  // The root and `/docs` redirect to the documentation.
  if (codes === undefined) expect([200, 302]).toContain(status);
  else if (body !== '') {
    expect(type).toContain('application/json');
    const answered = JSON.parse(body) as { error: { code: string } };
    expect(codes).toContain(answered.error.code);
    expectRefusal({ status, body: answered }, status, answered.error.code);
  }
}

const NAMES = [...new Set(OPERATIONS.flatMap(([, names]) => names.split(' ')))];
const ODD_NAMES = [
  '',
  '__proto__',
  'constructor',
  'ids[]',
  'ids[0]',
  'ids.a',
  'IDS',
  'limit%00',
  '%',
  "'",
  'é',
  '%F0%9F',
];
const ODD_VALUES = [
  '',
  '%',
  '%zz',
  '%00',
  'a%00b',
  '%ff%fe',
  '%ED%A0%80',
  '%F0%9F%A6%89',
  "' or 1=1 --",
  '"',
  ');drop table assets',
  '\\',
]
  .concat([
    'null',
    '[]',
    '{"a":1}',
    '+',
    '-0',
    '1e2',
    '0x10',
    'Infinity',
    '9'.repeat(400),
    'true',
    'asc',
    'a/b/../c',
    '🦉',
    'x'.repeat(5000),
  ])
  .concat([
    '2026-11-20T04:10:00Z',
    '0000-01-01T00:00:00',
    '9999-12-31T23:59:59-23:59',
    '2026-11-01T00:00:00+01:00',
    '%2B',
  ]);

const values = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('a', 'b', 't', '1', '2', '2000', 'false', 'desc', 'id', 'synced_at', 'dbt', 'e'),
  },
  { weight: 3, arbitrary: fc.constantFrom(...ODD_VALUES) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary-ascii' }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }).map(encodeURIComponent) },
);
const pairs = fc.tuple(
  fc.oneof({ weight: 9, arbitrary: fc.nat(99) }, { weight: 1, arbitrary: fc.constantFrom(...ODD_NAMES) }),
  values,
  fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.constantFrom(2, 1000, 1001) }),
);
const paths = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.constantFrom(...OPERATIONS), fc.array(values, { minLength: 3, maxLength: 3 }), fc.boolean())
      .map(([[path, names], ids, usual]) => {
        const known = { env_id: 'e', asset_id: 'a', test_id: 't' } as Record<string, string>;
        let nth = 0;
        return {
          path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
            usual ? (known[name] ?? 't1') : (ids[nth++] ?? ''),
          ),
          names: names.split(' '),
        };
      }),
  },
  {
    weight: 1,
    arbitrary: fc
      .array(
        fc.oneof(
          values,
          fc.constantFrom('public', 'beta', '..', '.', '%2e%2e', 'docs', 'static', 'metrics', 'healthz'),
        ),
      )
      .map((parts) => ({ path: `/${parts.join('/')}`, names: NAMES })),
  },
);

const requests = fc.record({
  at: paths,
  pairs: fc.array(pairs, { maxLength: 4 }),
  method: fc.constantFrom(
    'GET',
    'GET',
    'GET',
    'GET',
    'GET',
    'GET',
    'HEAD',
    'POST',
    'OPTIONS',
    'DELETE',
    'PATCH',
    'PUT',
  ),
  token: fc.constantFrom('Bearer secret', 'Bearer secret', 'Bearer secret', 'Bearer limited', 'Bearer', '', 'Basic x'),
});
type Request = typeof requests extends fc.Arbitrary<infer R> ? R : never;

/** No NULs or line ends, because no client sends them in a request line. */
function urlOf({ at, pairs: given }: Request): string {
  const query = given.flatMap(([name, value, times]) => {
    const named = typeof name === 'string' ? name : (at.names[name % at.names.length] ?? 'limit');
    return Array.from({ length: times }, () => `${named}=${value}`);
  });
  return `${at.path}?${query.join('&')}`.replaceAll(/[\p{Cc} ]/gu, '~');
}

async function ask(url: string, method: 'GET' = 'GET', headers: Record<string, string> = ADMITTED): Promise<Answer> {
  const answer = await (await server).inject({ method, url, headers });
  return { status: answer.statusCode, body: answer.body, type: String(answer.headers['content-type'] ?? '') };
}

/** The number of rows in a response, or of edges in a document that is not a list. */
function rowsIn({ body, type }: Answer): number {
  if (!type.includes('application/json')) return 0;
  const answered: unknown = JSON.parse(body);
  return (answered as { items?: unknown[] }).items?.length ?? 0;
}

describe('the server, given any request', () => {
  test('it answers, or refuses with the error envelope and no internal details', LONG, async () => {
    await fc.assert(
      fc.asyncProperty(requests, async (request) => {
        const headers = request.token === '' ? {} : { authorization: request.token };
        const url = urlOf(request);
        // The rest are none to whoever sends them here; the server meets the like as bytes, below.
        fc.pre(URL.canParse(url, 'http://localhost'));
        const answer = await ask(url, request.method as 'GET', headers as Record<string, string>);
        expectAnswer(answer);
        if (request.method !== 'HEAD') expect(rowsIn(answer)).toBeLessThanOrEqual(2000);
      }),
      tries(400),
    );
  });

  const PAGED = ['e/assets?limit=1', 'e/columns?limit=1&asset_ids=a', 'e/tests?limit=1&order_by=id&direction=desc'];
  const spoilings = fc.oneof(
    fc.record({ do: fc.constant('flip'), at: fc.nat(500), bit: fc.nat(7) }),
    fc.record({ do: fc.constant('cut'), at: fc.nat(500), bit: fc.constant(0) }),
    fc.record({ do: fc.constant('swap'), at: fc.nat(500), bit: fc.nat(20) }),
    fc.record({ do: fc.constant('else'), at: fc.nat(1), bit: fc.constant(0) }),
  );

  test('it refuses a cursor that was not issued for the request (400 invalid_cursor)', LONG, async () => {
    const issued = async (path: string, from: typeof other): Promise<string> =>
      (await from.get(path)).body.next_cursor as string;
    await fc.assert(
      fc.asyncProperty(fc.nat(PAGED.length - 1), spoilings, async (nth, { do: what, at, bit }) => {
        const path = PAGED[nth] as string;
        const cursor = await issued(path, world);
        const bytes = Buffer.from(cursor, 'base64url');
        let spoilt = '';
        if (what === 'flip') {
          bytes[at % bytes.length] = (bytes[at % bytes.length] as number) ^ (1 << bit);
          spoilt = bytes.toString('base64url');
        } else if (what === 'cut') spoilt = cursor.slice(0, at % cursor.length);
        else if (what === 'swap')
          spoilt = cursor.slice(at % cursor.length) + 'A'.repeat(bit) + cursor.slice(0, at % cursor.length);
        else
          spoilt =
            at === 0
              ? await issued(PAGED[(nth + 1) % PAGED.length] as string, world)
              : await issued(PAGED[0] as string, other);
        if (spoilt === cursor) return;
        const refused = await world.get(`${path}&cursor=${spoilt}`);
        expectRefusal(refused, 400, 'invalid_cursor');
      }),
      tries(40),
    );
  });

  const heads = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc
      .tuple(fc.array(fc.record({ at: fc.nat(150), to: fc.nat(255) }), { minLength: 1, maxLength: 4 }), fc.nat(120))
      .map(([blows, cut]) => {
        const bytes = Buffer.from(
          `GET /public/beta/e/assets?ids=a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\nConnection: close\r\n\r\n`,
        );
        for (const { at, to } of blows) bytes[at % bytes.length] = to;
        return cut < 20 ? bytes.subarray(0, cut * 5) : bytes;
      }),
  );

  test('it answers or drops any bytes, and serves the next request', LONG, async () => {
    const app = await server;
    if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const send = async (bytes: Buffer): Promise<string> => {
      const socket = connect(port, '127.0.0.1');
      socket.end(bytes);
      return Buffer.concat(await socket.toArray()).toString();
    };
    await fc.assert(
      fc.asyncProperty(heads, async (bytes) => {
        const answer = await send(bytes);
        const [, status] = /^HTTP\/1\.[01] (\d+) /.exec(answer) ?? [];
        if (answer !== '') expect([200, 302, ...Object.keys(REFUSALS).map(Number)]).toContain(Number(status));
        expect(answer).not.toContain('internal_error');
      }),
      tries(40),
    );
    expect((await ask('/public/beta/environments')).status).toBe(200);
  });
});
