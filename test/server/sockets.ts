import { type AddressInfo, connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';

/** The port at which a server listens. */
export async function listening(starting: FastifyInstance | Promise<FastifyInstance>): Promise<number> {
  const app = await starting;
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

/** A connection, until the test ends. */
export function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Everything received before the connection closed. */
export const received = async (socket: Socket): Promise<string> => Buffer.concat(await socket.toArray()).toString();

/** The head and the body of the answer to a client that sends no more than these bytes. */
export async function exchange(port: number, bytes: string): Promise<[head: string, body: string]> {
  const [head = '', body = ''] = (await received(open(port).end(bytes))).split('\r\n\r\n');
  return [head, body];
}
