import { expect, onTestFinished, test } from 'vitest';
import { sync } from '../../src/index.ts';
import { FEED_STREAMS } from '../support/catalogue.ts';
import { tcpProxy } from '../support/postgres/tcp-proxy.ts';
import { messageReader } from '../support/postgres/wire.ts';
import { temporarySchema } from '../support/postgres.ts';
import { servedWorld } from '../support/served-world.ts';

/** A mirror behind a proxy that counts connections and statements. */
async function setUp() {
  const { server } = await servedWorld();
  const schema = await temporarySchema();
  const counts = { connections: 0, statements: 0 };
  const proxy = await tcpProxy(schema.url, (client, upstream) => {
    counts.connections += 1;
    const read = messageReader(true);
    client.on('data', (chunk) => {
      counts.statements += read(chunk).filter(({ type }) => type === 'Q' || type === 'P').length;
    });
    client.pipe(upstream).pipe(client);
  });
  onTestFinished(() => proxy.close());
  const options = { baseUrl: server.url, token: 'the-token', db: proxy.url };
  return {
    async syncCounted() {
      Object.assign(counts, { connections: 0, statements: 0 });
      expect(await sync(options)).toMatchObject({ status: 'done', error: null });
      return { ...counts };
    },
  };
}

const MOST_STATEMENTS = 330 + 70 * FEED_STREAMS.length;

test('a sync without changes opens two connections, one of them for its lease, and sends at most 70 statements per feed and 330 more', async () => {
  const { syncCounted } = await setUp();
  await syncCounted();
  // On a busy machine a commit may take so long that another connection is opened.
  let idle = { connections: 0, statements: 0 };
  const connections = async (): Promise<number> => {
    idle = await syncCounted();
    return idle.connections;
  };
  await expect.poll(connections, { interval: 1, timeout: 60_000 }).toBe(2);
  expect(idle.statements).toBeLessThanOrEqual(MOST_STATEMENTS);
});
