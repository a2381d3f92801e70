import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { proxiesOf } from '../../src/source/proxies.ts';
import { failureOf, openSource } from './setup.ts';

/** Far longer than a test may take. */
const FOREVER_MS = 3_600_000;
const SERVICE = 'https://127.0.0.1:9';

/**
 * A server that accepts connections and answers nothing, such as a proxy that is starting. `firstAsked` is the first
 * connection, once bytes have arrived on it.
 */
async function startMuteServer() {
  const sockets: Socket[] = [];
  const asked = Promise.withResolvers<Socket>();
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {}).on('data', () => asked.resolve(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, sockets, firstAsked: asked.promise };
}

describe('a connection that is still being made', () => {
  test.each([
    ['the service, which answers no TLS handshake', (host: string) => [`https://${host}`, {}] as const],
    ['a proxy that answers no CONNECT', (host: string) => [SERVICE, { HTTPS_PROXY: `http://${host}` }] as const],
    ['a proxy that answers no TLS handshake', (host: string) => [SERVICE, { HTTPS_PROXY: `https://${host}` }] as const],
  ])('ends with the run, and leaves no socket: to %s (R27)', async (_, addresses) => {
    const server = await startMuteServer();
    const [url, env] = addresses(server.host);
    const stop = new AbortController();
    const source = openSource(url, { proxies: proxiesOf(url, env), signal: stop.signal, timeoutMs: FOREVER_MS });
    const failure = failureOf(source.environments());
    const socket = await server.firstAsked;
    const closed = once(socket, 'close');
    stop.abort();
    expect((await failure).recovery).toBe('signal');
    await closed;
    expect(server.sockets).toHaveLength(1);
  });

  test('ends when the source is closed, and leaves no socket', async () => {
    const server = await startMuteServer();
    const source = openSource(`https://${server.host}`, { timeoutMs: FOREVER_MS });
    const failure = failureOf(source.environments());
    const closed = once(await server.firstAsked, 'close');
    await source.close();
    expect((await failure).recovery).toBe('run');
    await closed;
  });

  test('a connection through a proxy that answers no CONNECT times out and is retried (R24)', async () => {
    const server = await startMuteServer();
    const proxies = proxiesOf(SERVICE, { HTTPS_PROXY: `http://${server.host}` });
    const source = openSource(SERVICE, { proxies, timeoutMs: 50.5, retries: 1 });
    const { message } = await failureOf(source.environments());
    expect(message).toContain(`no complete answer from 127.0.0.1:9 (proxy: ${server.host}) in time, after 2 tries`);
    expect(server.sockets).toHaveLength(2);
  });
});
