import { setTimeout as sleepFor } from 'node:timers/promises';
import { tcpProxy } from '../test/support/postgres/tcp-proxy.ts';
import { messageReader } from '../test/support/postgres/wire.ts';

/** The traffic between clients and their PostgreSQL server. */
export interface Traffic {
  /** How often a client sent a request after receiving all earlier responses, and so waited for the network. */
  readonly roundTrips: number;
  readonly bytesToServer: number;
  readonly bytesToClient: number;
}

/** A proxy that counts traffic and delays every byte like a network does. */
export type DelayingProxy = Awaited<ReturnType<typeof delayingProxy>>;

/** `delayMs` applies in each direction: a round trip takes twice as long. */
export async function delayingProxy(serverUrl: string, delayMs: number) {
  let [roundTrips, bytesToServer, bytesToClient] = [0, 0, 0];
  const delay = async (): Promise<void> => {
    if (delayMs > 0) await sleepFor(delayMs);
  };
  const { url, close } = await tcpProxy(serverUrl, (client, upstream) => {
    const [readRequests, readResponses] = [messageReader(true), messageReader(false)];
    let unanswered = 0;
    client.on('data', async (chunk) => {
      bytesToServer += chunk.length;
      const requests = readRequests(chunk).filter(({ type }) => type === 'S' || type === 'Q').length;
      if (unanswered === 0 && requests > 0) roundTrips += 1;
      unanswered += requests;
      await delay();
      upstream.write(chunk);
    });
    upstream.on('data', async (chunk) => {
      bytesToClient += chunk.length;
      await delay();
      const ready = readResponses(chunk).filter(({ type }) => type === 'Z').length;
      // The first one belongs to the connection setup; no client sent a request for it.
      unanswered = Math.max(0, unanswered - ready);
      client.write(chunk);
    });
  });
  return {
    url,
    close,
    /** The traffic since the last call. */
    traffic(): Traffic {
      const traffic = { roundTrips, bytesToServer, bytesToClient };
      [roundTrips, bytesToServer, bytesToClient] = [0, 0, 0];
      return traffic;
    },
  };
}
