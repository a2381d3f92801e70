import { expect, onTestFinished, test } from 'vitest';
import { sync } from '../../src/index.ts';
import { FEED_STREAMS } from '../support/catalogue.ts';
import { tcpProxy } from '../support/postgres/tcp-proxy.ts';
import { messageReader } from '../support/postgres/wire.ts';
import { temporarySchema } from '../support/postgres.ts';
import { servedWorld } from '../support/served-world.ts';

/** A mirror behind a proxy that counts connections, statements, and how often a client waits for an answer. */
async function setUp() {
  const { server } = await servedWorld();
  const schema = await temporarySchema();
  const counts = { connections: 0, statements: 0, roundTrips: 0 };
  const proxy = await tcpProxy(schema.url, (client, upstream) => {
    counts.connections += 1;
    const [readRequests, readAnswers] = [messageReader(true), messageReader(false)];
    let unanswered = 0;
    client.on('data', (chunk) => {
      const sent = readRequests(chunk).filter(({ type }) => type === 'Q' || type === 'P').length;
      if (sent > 0 && unanswered === 0) counts.roundTrips += 1;
      counts.statements += sent;
      unanswered += sent;
    });
    upstream.on('data', (chunk) => {
      const ready = readAnswers(chunk).filter(({ type }) => type === 'Z').length;
      // The first one belongs to the opening of the connection.
      unanswered = Math.max(0, unanswered - ready);
    });
    client.pipe(upstream).pipe(client);
  });
  onTestFinished(() => proxy.close());
  const options = { baseUrl: server.url, token: 'the-token', db: proxy.url };
  return {
    async syncCounted() {
      Object.assign(counts, { connections: 0, statements: 0, roundTrips: 0 });
      expect(await sync(options)).toMatchObject({ status: 'done', error: null });
      return { ...counts };
    },
  };
}

const MOST_STATEMENTS = 190 + 55 * FEED_STREAMS.length;
const MOST_ROUND_TRIPS = 100 + 30 * FEED_STREAMS.length;

test('a sync without changes opens two connections, one of them for its lease, and sends at most 55 statements per feed and 190 more, in 30 round trips per feed and 100 more', async () => {
  const { syncCounted } = await setUp();
  await syncCounted();
  // On a busy machine a commit may take so long that another connection is opened.
  let idle = { connections: 0, statements: 0, roundTrips: 0 };
  const connections = async (): Promise<number> => {
    idle = await syncCounted();
    return idle.connections;
  };
  await expect.poll(connections, { interval: 1, timeout: 60_000 }).toBe(2);
  expect(idle.statements).toBeLessThanOrEqual(MOST_STATEMENTS);
  expect(idle.roundTrips).toBeLessThanOrEqual(MOST_ROUND_TRIPS);
});
