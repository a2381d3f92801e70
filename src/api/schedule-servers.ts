import type { OptionsNamed } from '../settings/options.ts';
import type { SyncSettings } from '../settings/sync-settings.ts';
import { openStore } from './open-store.ts';
import { readMirrored } from './schedule-mirror.ts';
import { type RunningServer, type ServeOptions, startServer } from './serve.ts';
import { serveMetrics } from './serve-metrics.ts';
import { startRunThread } from './thread/in-thread.ts';

export interface ScheduleServerOptions
  extends Omit<ServeOptions, 'token'>,
    OptionsNamed<'serve' | 'metricsPort' | 'metricsHost'> {}

export type ServerEvent =
  | { readonly type: 'log'; readonly level: 'info' | 'warn'; readonly message: string }
  | { readonly type: 'serving'; readonly server: RunningServer };

type MirrorPlace = Pick<SyncSettings, 'db' | 'baseUrl'>;

/** Starts the servers of the mirror and of the metrics, if the options ask for them. @throws SyncError `usage` */
export async function startServers(
  options: ScheduleServerOptions,
  mirror: MirrorPlace,
  emit: (event: ServerEvent) => void,
): Promise<{ close(): Promise<void> }> {
  const opened: { close(): Promise<void> }[] = [];
  const close = async (): Promise<void> => void (await Promise.all(opened.map((each) => each.close())));
  try {
    if (options.serve === true) opened.push(await serveMirror(options, mirror, emit));
    if (options.metricsPort !== undefined) opened.push(...(await serveItsMetrics(options, mirror, emit)));
    return { close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Creates a mirror that does not exist yet, so the server answers from the start, whatever the first sync does. */
async function serveMirror(
  options: ScheduleServerOptions,
  { db, baseUrl }: MirrorPlace,
  emit: (event: ServerEvent) => void,
): Promise<RunningServer> {
  const server = await startServer({ ...options, token: undefined }, async () => {
    // Refuses the mirror of another base URL (R26).
    await readMirrored(db, baseUrl);
    const store = await openStore(db);
    if ((await store.bringUpToDate()) !== 'made') return;
    const message = `${store.display} was created: what it serves is incomplete until the first sync has ended`;
    emit({ type: 'log', level: 'info', message });
  });
  emit({ type: 'serving', server });
  return server;
}

async function serveItsMetrics(
  options: ScheduleServerOptions,
  { db }: MirrorPlace,
  emit: (event: ServerEvent) => void,
): Promise<{ close(): Promise<void> }[]> {
  const { mirrorMetrics } = await import('./mirror-metrics.ts');
  // Its own, because a scrape must not wait for the run.
  const thread = startRunThread();
  const endpoint = await serveMetrics(
    options,
    mirrorMetrics(db, () => thread.run('measure', db)),
  );
  if (endpoint === null) return [];
  emit({ type: 'log', level: 'info', message: `metrics at ${endpoint.url}` });
  return [endpoint, thread];
}
