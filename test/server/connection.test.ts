import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { assets } from '../../schema/assets.ts';
import { rootToken } from '../../src/server/access.ts';
import { CONNECTION_LIMITS } from '../../src/server/connection-slots.ts';
import { MAX_UNANSWERED } from '../../src/server/connections.ts';
import { rejectMalformed } from '../../src/server/send-error.ts';
import { asset, bearer, insert, NOW_MS, restricted, serve } from './fixture.ts';
import { expectRefusal } from './refusal.ts';
import { listening, open } from './sockets.ts';

const nothing = () => {};
const { maxIdle: MAX_WAITING_CONNECTIONS } = CONNECTION_LIMITS;
const LIST = '/public/beta/e/assets';

const request = (url: string, more = '') =>
  `GET ${url} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer secret\r\n${more}\r\n`;

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: Buffer;
}

/** The only answer received before the connection closed, complete or not. */
async function lastAnswer(socket: Socket, first: readonly Buffer[] = []): Promise<Answer> {
  return parse(Buffer.concat([...first, ...(await socket.toArray())]));
}

function parse(bytes: Buffer): Answer {
  const end = bytes.indexOf('\r\n\r\n');
  const head = bytes.subarray(0, end).toString();
  return { status: Number(head.split(' ')[1]), head, body: bytes.subarray(end + 4) };
}

const lengthOf = ({ head }: Answer) => Number(/^content-length: (\d+)$/im.exec(head)?.[1]);

/** Resolves once the server accepts no more connections. */
async function deafness({ server }: FastifyInstance): Promise<void> {
  while (server.listening) await nextTurn();
}

/** More than the buffers of a connection can hold. */
const LARGE_BYTES = 10_000_000;
const ROWS = 1000;
const fillLarge: Parameters<typeof serve>[0] = ({ db }) => {
  const description = 'x'.repeat(LARGE_BYTES / ROWS);
  const rows = Array.from({ length: ROWS }, (_, i) => asset(`a${i}`, { description }));
  for (let i = 0; i < ROWS; i += 500) insert(db, assets, rows.slice(i, i + 500));
};

describe('the limits on size and duration of a request', () => {
  const { server } = serve(({ db }) => insert(db, assets, asset('a')));
  const port = server.then(listening);
  const ask = async (url: string, more = '') => {
    const socket = open(await port);
    socket.write(request(url, `connection: close\r\n${more}`));
    return lastAnswer(socket);
  };

  test('an address of 256 KB is accepted, in its query and in its path', async () => {
    const values = `ids=a&ids=${'x'.repeat(262_144 - LIST.length - 11)}`;
    const found = await ask(`${LIST}?${values}`);
    expect([found.status, JSON.parse(found.body.toString()).items]).toEqual([
      200,
      [expect.objectContaining({ id: 'a' })],
    ]);
    const one = await ask(`${LIST}/${'x'.repeat(262_144 - LIST.length - 1)}`);
    expectRefusal({ status: one.status, body: JSON.parse(one.body.toString()) }, 404, 'not_found');
    // The message names what was not found but does not repeat it in full.
    expect(one.body.length).toBeLessThan(1000);
  });

  test('a longer address is 414 (RFC 9112, 3)', async () => {
    for (const url of [`${LIST}?ids=`, `${LIST}/`]) {
      const { status, head, body } = await ask(url.padEnd(262_145, 'x'));
      expectRefusal({ status, body: JSON.parse(body.toString()) }, 414, 'invalid_request');
      expect(head).toMatch(/^date: /im);
    }
  });

  test.each([
    ['an address of 280 KB', LIST + '/'.padEnd(280_000, 'x'), ''],
    ['a query of 280 KB', `${LIST}?ids=`.padEnd(280_000, 'x'), ''],
    ['an address of 2 MB', LIST + '/'.padEnd(2_000_000, 'x'), ''],
    ['a header of 280 KB', LIST, `x-long: ${'x'.repeat(280_000)}\r\n`],
    ['3000 headers', LIST, 'x-short: 0123456789\r\n'.repeat(3000)],
  ])('a request is 431, and its connection is closed, if it has too long a head: %s', async (_, url, more) => {
    const { status, head, body } = await ask(url, more);
    expect(expectRefusal({ status, body: JSON.parse(body.toString()) }, 431, 'invalid_request')).toContain('too long');
    expect(head.toLowerCase()).toContain('connection: close');
  });

  test('headers must arrive within 10 seconds, a request within 30', async () => {
    expect((await server).server).toMatchObject({ headersTimeout: 10_000, requestTimeout: 30_000 });
  });

  test.each([
    ['took too long', 'ERR_HTTP_REQUEST_TIMEOUT', 408],
    ['is too long', 'HPE_HEADER_OVERFLOW', 431],
    ['is no HTTP', 'HPE_INVALID_METHOD', 400],
  ])('a request that %s is answered with the envelope', async (_, code, status) => {
    const socket = new PassThrough();
    const refused: number[] = [];
    const context = { unfinished: () => null, refused: (each: number) => void refused.push(each) };
    rejectMalformed(Object.assign(new Error('inside'), { code }), socket, context);
    const answer = parse(Buffer.concat(await socket.toArray()));
    expect(lengthOf(answer)).toBe(answer.body.length);
    expectRefusal({ status: answer.status, body: JSON.parse(answer.body.toString()) }, status, 'invalid_request');
    expect(refused).toEqual([status]);
  });

  test('the server does not wait for a body', async () => {
    const socket = open(await port);
    socket.write(
      `POST ${LIST} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer secret\r\ncontent-length: 9000000\r\n\r\n{`,
    );
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(parse(first).status).toBe(405);
  });
});

describe('the limit on connections without a request', () => {
  const UNFINISHED = `GET ${LIST}?ids=${'x'.repeat(10_000)}`;
  const openWaiting = async (port: number, count: number) => {
    const sockets = Array.from({ length: count }, () => open(port));
    for (const socket of sockets) socket.on('error', nothing).write(UNFINISHED);
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    return sockets;
  };
  const countOf = (server: FastifyInstance) => promisify(server.server.getConnections).call(server.server);

  test('the connection that has waited longest with unfinished headers is closed, and others are answered', async () => {
    const server = await serve(nothing).server;
    const port = await listening(server);
    const [first] = await openWaiting(port, 1);
    const closed = once(first as Socket, 'close');
    await openWaiting(port, MAX_WAITING_CONNECTIONS);
    await closed;
    expect(await countOf(server)).toBe(MAX_WAITING_CONNECTIONS);
    const asking = open(port);
    asking.write(request('/healthz', 'connection: close\r\n'));
    expect(await lastAnswer(asking)).toMatchObject({ status: 200 });
  });

  test('a connection does not count while its answer is being read, and counts again afterwards', async () => {
    const server = await serve(fillLarge).server;
    const port = await listening(server);
    const [reading, served] = [open(port), open(port)];
    reading.write(request(`${LIST}?limit=${ROWS}`, 'connection: close\r\n'));
    const [start] = (await once(reading, 'data')) as [Buffer];
    reading.pause();
    const [oldest] = await openWaiting(port, 1);
    const closed = once(oldest as Socket, 'close');
    served.write(request('/healthz'));
    await once(served, 'data');
    await openWaiting(port, MAX_WAITING_CONNECTIONS - 1);
    await closed;
    served.write(request('/healthz', 'connection: close\r\n'));
    expect(await lastAnswer(served)).toMatchObject({ status: 200 });
    const answer = await lastAnswer(reading, [start]);
    expect(answer.body.length).toBe(lengthOf(answer));
  });

  test('a client whose headers took too long gets 408, and its connection is closed even if the client keeps it open', async () => {
    const server = await serve(nothing).server;
    Object.assign(server.server, { headersTimeout: 1, timeout: 0 });
    const port = await listening(server);
    const opened = once(server.server, 'connection') as Promise<[Socket]>;
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    socket.write(UNFINISHED);
    const [connection] = await opened;
    const closed = once(connection, 'close');
    const { status, body } = await lastAnswer(socket);
    expectRefusal({ status, body: JSON.parse(body.toString()) }, 408, 'invalid_request');
    await closed;
  });
});

describe('the limit on requests of one connection', () => {
  const { server, writing } = serve(fillLarge);
  const port = server.then(listening);
  const answered = async (requests: string) => {
    const socket = open(await port);
    socket.on('error', nothing);
    socket.write(requests);
    const received = await socket.toArray().catch(() => []);
    return (
      Buffer.concat(received as Buffer[])
        .toString()
        .split('HTTP/1.1 200').length - 1
    );
  };
  const last = (url: string) => request(url, 'connection: close\r\n');

  test.each(['/openapi.json', '/healthz', '/public/beta/environments'])(
    'requests of %s up to the limit are all answered, and one more closes the connection',
    async (url) => {
      const fits = request(url).repeat(MAX_UNANSWERED - 1) + last(url);
      expect(await answered(fits)).toBe(MAX_UNANSWERED);
      expect(await answered(request(url) + fits)).toBe(0);
      expect(await answered(last(url))).toBe(1);
    },
  );

  test('the limit also applies to a client without a token', async () => {
    const anonymous = 'GET /openapi.json HTTP/1.1\r\nhost: test\r\n\r\n';
    expect(await answered(anonymous.repeat(1000))).toBe(0);
  });

  test('an unread answer waits for a minute with a valid token, for seconds without', async () => {
    const timeoutOf = async (token: string) => {
      const accepted = once((await server).server, 'connection') as Promise<[Socket]>;
      const socket = open(await port);
      const [served] = await accepted;
      const asked = once((await server).server, 'request');
      socket.write(request(`${LIST}?limit=${ROWS}`).replace('secret', token));
      await (token === 'secret' ? once(socket, 'data') : asked);
      return served.timeout;
    };
    const { timeoutMs, unauthenticatedTimeoutMs } = CONNECTION_LIMITS;
    expect([await timeoutOf('secret'), await timeoutOf('unknown')]).toEqual([timeoutMs, unauthenticatedTimeoutMs]);
  });

  test('a request is answered once the previous answer has been read', async () => {
    const socket = open(await port);
    socket.write(request(`${LIST}?limit=${ROWS}`) + last('/public/beta/environments'));
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    writing.connection.prepare("insert into environments (id, name, mirrored_at) values ('f', 'new', '2026')").run();
    const received = Buffer.concat([first, ...((await socket.toArray()) as Buffer[])]);
    const second = received.subarray(lengthOf(parse(received)) + parse(received).head.length + 4);
    expect(JSON.parse(parse(second).body.toString())).toMatchObject([{ id: 'e' }, { id: 'f' }]);
  });

  test('the OpenAPI document is built once', async () => {
    const ask = async () => (await (await server).inject('/openapi.json')).body;
    const before = await ask();
    Object.assign((await server).swagger(), { info: 'another' });
    expect(await ask()).toBe(before);
    expect(JSON.parse(before)).toMatchObject({ openapi: '3.1.0' });
  });

  test('a closing server does not wait for answers of a closed connection', async () => {
    const closing = await serve(nothing).server;
    const socket = open(await listening(closing));
    socket.on('error', nothing);
    socket.write(request('/openapi.json').repeat(MAX_UNANSWERED + 1));
    await once(socket, 'close');
    await closing.close();
    expect(closing.server.listening).toBe(false);
  });
});

describe('an internal failure', () => {
  const { server, mirror } = serve(nothing);

  test.each([
    ['/public/beta/environments', 'secret'],
    [LIST, 'secret'],
    [`${LIST}/a`, 'secret'],
    ['/public/beta/e/asset-health-scores/aggregate', 'secret'],
    ['/nothing', 'secret'],
    ['/public/beta/%zz', 'secret'],
    [LIST, 'unknown'],
    ['/healthz', 'secret'],
    ['/metrics', 'secret'],
  ])('it reveals no details: %s with the token %s', async (url, token) => {
    await (await server).ready();
    mirror.connection.close();
    const answer = await (await server).inject({ url, headers: bearer(token) });
    expect([answer.statusCode, answer.json()]).toEqual([
      500,
      { error: { code: 'internal_error', message: 'Unexpected server error' } },
    ]);
  });
});

describe('the headers of answers', () => {
  const { server } = serve(nothing);
  const port = server.then(listening);

  test.each<[string, string | undefined, string | undefined]>([
    ['no token', undefined, 'Bearer realm="obsync"'],
    ['another scheme', 'Basic eDp5', 'Bearer realm="obsync"'],
    ['an unknown token', 'Bearer unknown', 'Bearer realm="obsync", error="invalid_token"'],
    ['a token that does not suffice', 'Bearer limited', 'Bearer realm="obsync", error="insufficient_scope"'],
    ['a token that suffices', 'Bearer secret', undefined],
  ])('they challenge a client with %s (RFC 6750, 3)', async (_, authorization, challenge) => {
    const keys = [rootToken('all', 'secret'), restricted('limited', { scopes: new Set() })];
    const { get: ask } = serve(nothing, { keys: () => keys });
    const { headers } = await ask('e/assets', authorization === undefined ? {} : { authorization });
    expect(headers['www-authenticate']).toBe(challenge);
  });

  test('they name the allowed methods after another method', async () => {
    const authorization = 'Bearer secret';
    const answer = await (await server).inject({ method: 'PUT', url: LIST, headers: { authorization } });
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, HEAD']);
  });

  test('they have the mirror’s time, also at /healthz', async () => {
    const { headers } = await (await server).inject('/healthz');
    expect(headers.date).toBe(new Date(NOW_MS).toUTCString());
  });

  test('a browser at the root address gets the page, which needs no token', async () => {
    const { statusCode, headers } = await (await server).inject('/');
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  });

  test.each(['/', '/docs', '/openapi.json', '/healthz', '/metrics', '/nothing', LIST, '/public/beta/%zz'])(
    'they prevent browsers from guessing types and sending referrers: %s',
    async (url) => {
      const { headers } = await (await server).inject(url);
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    },
  );

  test.each(['/', '/docs'])('they keep %s out of frames and its forms from being sent', async (url) => {
    const policy = String((await (await server).inject(url)).headers['content-security-policy']);
    expect(policy).toContain("base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  });

  test.each([
    ['no host', 'HTTP/1.1', '', 400],
    ['two hosts', 'HTTP/1.1', 'host: a\r\nHost: b\r\n', 400],
    ['the same host twice', 'HTTP/1.1', 'host: a\r\nhost: a\r\n', 400],
    ['one host', 'HTTP/1.1', 'host: a\r\n', 200],
    ['no host in HTTP/1.0', 'HTTP/1.0', '', 200],
  ])('a request with %s is answered with %s', async (_, version, host, expected) => {
    const socket = open(await port);
    socket.write(`GET ${LIST} ${version}\r\n${host}authorization: Bearer secret\r\nconnection: close\r\n\r\n`);
    const { status, body } = await lastAnswer(socket);
    expect(status).toBe(expected);
    if (expected === 400) expectRefusal({ status, body: JSON.parse(body.toString()) }, 400, 'invalid_request');
  });

  test('an unknown Expect header is not rejected', async () => {
    const socket = open(await port);
    socket.write(request(LIST, 'expect: nonsense\r\nconnection: close\r\n'));
    const { status, body } = await lastAnswer(socket);
    expect([status, JSON.parse(body.toString()).items]).toEqual([200, []]);
  });
});

describe('a closing server', () => {
  /** Two connections that have received an answer. */
  const openAnswered = async (port: number) => {
    const sockets = [open(port), open(port)];
    for (const socket of sockets) {
      socket.write(request('/healthz'));
      await once(socket, 'data');
    }
    return sockets;
  };

  test('it lets a slow client finish reading a large answer, and accepts no new connections', async () => {
    const server = await serve(fillLarge).server;
    const port = await listening(server);
    const socket = open(port);
    socket.write(request(`${LIST}?limit=${ROWS}`));
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    const closed = server.close();
    await deafness(server);
    const [refused] = await once(open(port), 'error');
    expect(refused).toMatchObject({ code: 'ECONNREFUSED' });
    const answer = await lastAnswer(socket, [first]);
    expect(lengthOf(answer)).toBeGreaterThan(LARGE_BYTES);
    expect(answer.body.length).toBe(lengthOf(answer));
    await closed;
  });

  test('it answers a request on an open connection, then closes that connection', async () => {
    const server = await serve(fillLarge).server;
    const port = await listening(server);
    const [slow, other] = [open(port), open(port)];
    other.write(request('/healthz'));
    await once(other, 'data');
    slow.write(request(`${LIST}?limit=${ROWS}`));
    await once(slow, 'data');
    slow.pause();
    const closed = server.close();
    await deafness(server);
    other.write(request('/public/beta/environments'));
    const { status, head, body } = await lastAnswer(other);
    expect([status, JSON.parse(body.toString())]).toEqual([200, [{ id: 'e', name: 'Environment' }]]);
    expect(head.toLowerCase()).toContain('connection: close');
    slow.destroy();
    await closed;
  });

  test('it answers requests sent before clients could know that it closes', async () => {
    const server = await serve(nothing).server;
    const port = await listening(server);
    const sockets = await openAnswered(port);
    for (const socket of sockets) socket.write(request('/public/beta/environments'));
    const closed = server.close();
    for (const { status, head } of await Promise.all(sockets.map((socket) => lastAnswer(socket))))
      expect([status, head.toLowerCase().includes('connection: close')]).toEqual([200, true]);
    await closed;
  });

  test('it does not wait for connections with no request or half a request', async () => {
    const server = await serve(nothing).server;
    const port = await listening(server);
    const sockets = [open(port), open(port)];
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    sockets[1]?.write(`GET ${LIST} HTTP/1.1\r\nhost: te`);
    await server.close();
    for (const socket of sockets) if (!socket.closed) await once(socket.resume(), 'close').catch(() => {});
  });

  test('it does not wait for idle keep-alive connections', async () => {
    const server = await serve(nothing).server;
    const port = await listening(server);
    const sockets = await openAnswered(port);
    await server.close();
    for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
  });
});
