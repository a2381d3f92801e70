import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { messageReader } from '../test/support/postgres/wire.ts';

/** The traffic between clients and their PostgreSQL server. */
export interface Traffic {
  /** How often a client sent a request after receiving all earlier responses, and so waited for the network. */
  readonly roundTrips: number;
  readonly bytesToServer: number;
  readonly bytesToClient: number;
}

/** A proxy that counts traffic and delays every byte like a network does. */
export interface DelayingProxy {
  readonly url: string;
  /** The traffic since the last call. */
  traffic(): Traffic;
  close(): Promise<void>;
}

/** `delayMs` applies in each direction: a round trip takes twice as long. */
export async function delayingProxy(serverUrl: string, delayMs: number): Promise<DelayingProxy> {
  const server = new URL(serverUrl);
  const open = new Set<Socket>();
  let [roundTrips, bytesToServer, bytesToClient] = [0, 0, 0];
  const proxy = createServer((client) => {
    const upstream = connect(Number(server.port || 5432), server.hostname);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => open.delete(socket));
    }
    const [readRequests, readResponses] = [messageReader(true), messageReader(false)];
    let unanswered = 0;
    deliver(client, upstream, {
      delayMs,
      onSent(chunk) {
        bytesToServer += chunk.length;
        const requests = readRequests(chunk).filter(({ type }) => type === 'S' || type === 'Q').length;
        if (unanswered === 0 && requests > 0) roundTrips += 1;
        unanswered += requests;
      },
      onArrived: () => undefined,
    });
    deliver(upstream, client, {
      delayMs,
      onSent: (chunk) => {
        bytesToClient += chunk.length;
      },
      onArrived(chunk) {
        const ready = readResponses(chunk).filter(({ type }) => type === 'Z').length;
        // The first one belongs to the connection setup; no client sent a request for it.
        unanswered = Math.max(0, unanswered - ready);
      },
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const url = new URL(serverUrl);
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    url: url.href,
    traffic() {
      const traffic = { roundTrips, bytesToServer, bytesToClient };
      [roundTrips, bytesToServer, bytesToClient] = [0, 0, 0];
      return traffic;
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

interface Delivery {
  readonly delayMs: number;
  onSent(chunk: Buffer): void;
  onArrived(chunk: Buffer): void;
}

/** Forwards everything from one socket to another, in order. */
function deliver(from: Socket, to: Socket, { delayMs, onSent, onArrived }: Delivery): void {
  const later = async (act: () => void): Promise<void> => {
    if (delayMs > 0) await sleepFor(delayMs);
    act();
  };
  from.on('data', (chunk) => {
    onSent(chunk);
    void later(() => {
      onArrived(chunk);
      to.write(chunk);
    });
  });
  from.on('close', () => void later(() => to.destroy()));
}
