import { expect, onTestFinished, test } from 'vitest';
import { runOnce } from '../../src/api/session.ts';
import { syncSettings, watchOf } from '../../src/settings/sync-settings.ts';
import { type CuttingProxy, cuttingProxy } from '../support/postgres/cutting-proxy.ts';
import { testSchema } from '../support/postgres.ts';
import { each } from './every.ts';
import { expectMirrored, quiet, standing } from './postgres-reference.ts';
import { serveWorld } from './served-world.ts';

/** After this many milliseconds without an answer a connection is given up, unless the server is still working. */
const ANSWER_TIMEOUT_MS = 400;

const world = standing(['e1']);
const { contents } = await quiet(world);

/** Runs a first sync through a proxy. `onSent` receives the number of messages sent so far. */
async function syncThrough(
  onSent: (sent: number, proxy: CuttingProxy) => void = () => {},
  { signal, answerTimeoutMs = ANSWER_TIMEOUT_MS }: { signal?: AbortSignal; answerTimeoutMs?: number } = {},
) {
  const schema = await testSchema();
  let sent = 0;
  const proxy: CuttingProxy = await cuttingProxy(schema.serverUrl, () => {
    sent += 1;
    onSent(sent, proxy);
  });
  onTestFinished(async () => {
    await proxy.close();
    await schema.drop();
  });
  const db = new URL(schema.url);
  db.host = new URL(proxy.url).host;
  db.searchParams.set('connect_timeout', '1');
  db.searchParams.set('tcp_user_timeout', String(answerTimeoutMs));
  const own = { token: 'the-token', history: true, pageSize: 2, concurrency: 1, allowHttp: true };
  const options = { ...own, baseUrl: await serveWorld(world, () => true), db: db.href };
  const summary = await runOnce(syncSettings(options), watchOf({ signal }));
  return { schema, summary, sent };
}

test.for(['before', 'after'] as const)(
  'a sync whose connections fall silent %s any message is sent succeeds, with the rows of an undisturbed one (R5, R26)',
  async (when) => {
    const { sent: count } = await syncThrough();
    for (const moment of each(messages(count), 97)) {
      const { schema, summary } = await syncThrough((sent, proxy) => {
        if (sent === moment) proxy.silenceAll(when);
      });
      expect(summary, `message ${moment} of ${count}`).toMatchObject({ status: 'done', error: null });
      await expectMirrored(schema.url, contents);
    }
  },
);

test('stopping a run waits for no silent connection (R27)', async () => {
  const { sent: count } = await syncThrough();
  // While the mirror is open, because a signal ends a command that only reads it.
  for (const moment of each(messages(count).slice(count / 4, count / 2), 97)) {
    const stopping = new AbortController();
    const { summary } = await syncThrough(
      (sent, proxy) => {
        if (sent !== moment) return;
        proxy.silenceAll('after');
        stopping.abort();
      },
      { signal: stopping.signal, answerTimeoutMs: 3_600_000 },
    );
    expect(summary.status, `message ${moment} of ${count}`).toBe('interrupted');
  }
});

const messages = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
