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

/** Starts the servers of the mirror and of the metrics, if the options ask for them. @throws SyncError `usage` */
export async function startServers(
  options: ScheduleServerOptions,
  { db, baseUrl }: Pick<SyncSettings, 'db' | 'baseUrl'>,
  emit: (event: ServerEvent) => void,
): Promise<{ close(): Promise<void> }> {
  const opened: { close(): Promise<void> }[] = [];
  const close = async (): Promise<void> => void (await Promise.all(opened.map((each) => each.close())));
  const log = (message: string): void => emit({ type: 'log', level: 'info', message });
  try {
    if (options.serve === true) {
      const server = await startServer({ ...options, token: undefined }, () => createMissing(db, baseUrl, log));
      emit({ type: 'serving', server });
      opened.push(server);
    }
    if (options.metricsPort !== undefined) {
      const { mirrorMetrics } = await import('./mirror-metrics.ts');
      // Its own, because a scrape must not wait for the run.
      const thread = startRunThread();
      const measure = () => thread.run('measure', db);
      const endpoint = await serveMetrics(options, mirrorMetrics(db, measure));
      if (endpoint !== null) {
        opened.push(endpoint, thread);
        log(`metrics at ${endpoint.url}`);
      }
    }
    return { close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Creates a mirror that does not exist yet, so the server answers from the start, whatever the first sync does. */
async function createMissing(db: string, baseUrl: string, log: (message: string) => void): Promise<void> {
  // Refuses the mirror of another base URL (R26).
  await readMirrored(db, baseUrl);
  const store = await openStore(db);
  if ((await store.bringUpToDate()) === 'made')
    log(`${store.display} was created: what it serves is incomplete until the first sync has ended`);
}
