import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import fastify, { type FastifyInstance } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CONNECTION_LIMITS, type ConnectionLimits } from '../../src/server/connection-slots.ts';
import { limitConnections } from '../../src/server/connections.ts';
import { networkOf } from '../../src/server/network.ts';
import { listening, open } from './sockets.ts';

/** More than the buffers of a connection can hold. */
const LARGE = Buffer.alloc(10_000_000);

/** A server whose answers exceed what the socket buffers hold. Any token counts as valid. */
async function serveLarge(limits: Partial<ConnectionLimits>): Promise<Serving> {
  const server = fastify();
  onTestFinished(() => server.close());
  const { authenticated: admitted } = limitConnections(server, { ...CONNECTION_LIMITS, ...limits });
  server.addHook('onRequest', async ({ raw }) => {
    if (raw.headers.authorization !== undefined) admitted(raw.socket);
  });
  server.get('/large', async () => LARGE);
  server.get('/endless', async () => Readable.from(endless()));
  server.get('/small', async () => 'small');
  return { server, port: await listening(server) };
}

function* endless(): Generator<Buffer> {
  for (;;) yield LARGE.subarray(0, 100_000);
}

interface Serving {
  readonly server: FastifyInstance;
  readonly port: number;
}

const nothing = () => {};

/**
 * A client that has sent a request, received the beginning of the answer, and stops reading. Returned with the server's
 * side of its connection.
 */
async function openUnread(
  { server, port }: Serving,
  head = '',
  path = '/large',
): Promise<{ client: Socket; served: Socket }> {
  const accepted = once(server.server, 'connection') as Promise<[Socket]>;
  const client = open(port).on('error', nothing);
  client.write(`GET ${path} HTTP/1.1\r\nhost: test\r\n${head}\r\n`);
  await once(client, 'readable');
  const [served] = await accepted;
  return { client, served };
}

async function statusOf({ port }: Serving, head = ''): Promise<string | undefined> {
  const client = open(port).on('error', nothing);
  client.write(`GET /small HTTP/1.1\r\nhost: test\r\n${head}connection: close\r\n\r\n`);
  const received = await client.toArray().catch(() => []);
  return /^HTTP\/1.1 (\d+)/.exec(Buffer.concat(received).toString())?.[1];
}

const TOKEN = 'authorization: Bearer secret\r\n';

describe('connections with a request in progress', () => {
  test('if a network has too many, the unauthenticated client that has gone longest without reading is disconnected', async () => {
    const serving = await serveLarge({ maxUnauthenticated: 2 });
    const unread = [await openUnread(serving), await openUnread(serving), await openUnread(serving)];
    if (!unread[0]?.served.destroyed) await once(unread[0]?.served as Socket, 'close');
    expect(unread.map(({ served }) => served.destroyed)).toEqual([true, false, false]);
  });

  test('authenticated connections do not count against the limit of their network', async () => {
    const serving = await serveLarge({ maxUnauthenticated: 1 });
    const unread = [await openUnread(serving, TOKEN), await openUnread(serving, TOKEN), await openUnread(serving)];
    expect(unread.map(({ served }) => served.destroyed)).toEqual([false, false, false]);
  });

  test('if all connections are taken, a new one replaces an unauthenticated one', async () => {
    const serving = await serveLarge({ max: 3 });
    const reader = await openUnread(serving, TOKEN);
    const anonymous = [await openUnread(serving), await openUnread(serving)];
    expect(await statusOf(serving)).toBe('200');
    expect(anonymous.map(({ served }) => served.destroyed)).toEqual([true, false]);
    expect(await statusOf(serving, TOKEN)).toBe('200');
    expect(reader.served.destroyed).toBe(false);
  });

  test('a client that keeps reading outlasts those that connected later', async () => {
    const serving = await serveLarge({ max: 2 });
    const [reading, stopped] = [await openUnread(serving, '', '/endless'), await openUnread(serving)];
    const progress = once(reading.served, 'drain');
    reading.client.resume();
    await progress;
    expect(await statusOf(serving)).toBe('200');
    expect([reading, stopped].map(({ served }) => served.destroyed)).toEqual([false, true]);
  });

  test('a new connection never replaces an authenticated one', async () => {
    const serving = await serveLarge({ max: 2 });
    const readers = [await openUnread(serving, TOKEN), await openUnread(serving, TOKEN)];
    expect(await statusOf(serving, TOKEN)).toBeUndefined();
    expect(readers.map(({ served }) => served.destroyed)).toEqual([false, false]);
  });

  test('an answer that an unauthenticated client does not read is dropped', async () => {
    const serving = await serveLarge({ unauthenticatedTimeoutMs: 1 });
    const [reader, anonymous] = [await openUnread(serving, TOKEN), await openUnread(serving)];
    if (!anonymous.served.destroyed) await once(anonymous.served, 'close');
    expect(reader.served.destroyed).toBe(false);
  });

  test('an unread answer has a timeout of 5 seconds, of 60 with a valid token', async () => {
    const serving = await serveLarge({});
    const [reader, anonymous] = [await openUnread(serving, TOKEN), await openUnread(serving)];
    // Node closes a connection when it finds its answer unread for the second time.
    expect([anonymous.served.timeout, reader.served.timeout]).toEqual([5000, 60_000]);
  });
});

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:db8:1:2:ffff::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('the address %s belongs to the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
