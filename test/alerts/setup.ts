import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runOnce } from '../../src/api/session.ts';
import type { AlertOptions, SyncEvent, SyncOptions } from '../../src/settings/options.ts';
import { syncSettings, watchOf } from '../../src/settings/sync-settings.ts';
import { furnish } from '../model/furnish.ts';
import { createWorld } from '../model/world.ts';
import type { Reply } from '../support/api-server.ts';
import { testFolder } from '../support/test-folder.ts';
import { serveWorld } from '../support/world-server.ts';

interface ReceivedPost {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** The port that the client sent it from. */
  readonly from: number | undefined;
}

/** A server that records what is posted to it and answers with `status`. */
export async function startReceiver() {
  const posts: ReceivedPost[] = [];
  const receiver = { url: '', posts, status: 200 };
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    posts.push({ path: request.url ?? '', headers: request.headers, body, from: request.socket.remotePort });
    response.writeHead(receiver.status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/s3cret-path`;
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return receiver;
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** A file that contains this text. */
export function fileWith(text: string): string {
  const path = join(testFolder(), 'secret');
  writeFileSync(path, `${text}\n`);
  return path;
}

/** A served world and a mirror of it. Each sync happens an hour after the one before, in this thread. */
export async function servedScene(alerts: AlertOptions) {
  const world = createWorld();
  const env = world.environment();
  furnish(env);
  /** If set, the service answers every request with it. */
  const outage: { reply?: Reply } = {};
  const api = await serveWorld(world, undefined, () => outage.reply);
  onTestFinished(() => api.close());
  const db = join(testFolder(), 'm.db');
  const events: SyncEvent[] = [];
  const { signal } = new AbortController();
  const watcher = watchOf<SyncEvent>({ signal, onProgress: (event) => events.push(event) });
  const usual = { baseUrl: api.url, token: 'a-token', db, alerts, shareQuota: false, retries: 0 };
  return {
    ...{ world, env, db, events, signal, outage },
    async sync(options: Partial<SyncOptions> = {}) {
      world.advance(3600);
      return runOnce(syncSettings({ ...usual, ...options }), watcher);
    },
  };
}
