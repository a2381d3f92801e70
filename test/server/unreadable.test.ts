import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { serve } from './fixture.ts';
import { listening, open, received } from './sockets.ts';

const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: test\r\n';

const connected = async (): Promise<Socket> => open(await listening(serve().server));

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

describe('bytes that are not HTTP', () => {
  test('their refusal has a Date (RFC 9110, 6.6.1)', async () => {
    const socket = await connected();
    socket.write('BAD\r\n\r\n');
    const text = await received(socket);
    expect(statuses(text)).toEqual([400]);
    expect(Date.parse(/^date: (.*)\r$/im.exec(text)?.[1] ?? '')).toBeGreaterThan(Date.now() - 60_000);
  });

  test('after a request in the same packet, that request is answered, and nothing else (RFC 9112, 9.3.2)', async () => {
    const socket = await connected();
    socket.write(`${HEALTH}\r\nBAD\r\n\r\n`);
    const text = await received(socket);
    expect(statuses(text)).toEqual([200]);
    expect(text).toContain('"status":"up"');
  });

  test('after an answer that has been read, they are refused', async () => {
    const socket = await connected();
    socket.write(`${HEALTH}\r\n`);
    await once(socket, 'data');
    socket.write('BAD\r\n\r\n');
    expect(statuses(await received(socket))).toEqual([400]);
  });

  test('within the body of a request that has its answer, they only close the connection', async () => {
    const socket = await connected();
    socket.write(`${HEALTH}transfer-encoding: chunked\r\n\r\n`);
    await once(socket, 'data');
    socket.write('no chunk\r\n');
    expect(await received(socket)).toBe('');
  });
});

test('a request that has its answer is not answered again when its body does not arrive', async () => {
  const server = await serve().server;
  Object.assign(server.server, { requestTimeout: 1, headersTimeout: 1 });
  const socket = open(await listening(server));
  socket.write(`${HEALTH}content-length: 9\r\n\r\n`);
  expect(statuses(await received(socket))).toEqual([200]);
});
