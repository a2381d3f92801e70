import { type ChannelSender, openSender } from '../alerts/deliver.ts';
import { sendAlerts } from '../alerts/send-alerts.ts';
import { errorMessage, exitCodeOfRun, SyncError } from '../core/errors.ts';
import type { OpenMirror } from '../core/ports/open-mirror.ts';
import { wantedOf } from '../core/schedule/wanted-environments.ts';
import { earlierOf } from '../core/time/instant.ts';
import type { AlertSettings } from '../settings/alert-settings.ts';
import type { SyncEvent } from '../settings/options.ts';
import { clock, type SyncSettings, USUAL_STREAMS, type WorkWatch } from '../settings/sync-settings.ts';
import type { RunSummary } from '../sync/summary.ts';

/**
 * `SENDING_MS` limits all deliveries of a run; after a signal, `STOPPING_MS` does (R27). It leaves time for the summary
 * before a worker gives up the run after three seconds, and the command line ends the process after four.
 */
const [SENDING_MS, STOPPING_MS] = [60_000, 2500];

/**
 * Tells the channels that a run began, what it decided, and how it ended. Whatever fails here becomes an event and
 * never changes how the run ended.
 */
export function openReporter(alerts: AlertSettings, settings: SyncSettings, watch: WorkWatch<SyncEvent>) {
  const { limit, dispose } = deadlines(watch.signal);
  const sender = openSender(settings.ca);
  const warn = (error: unknown, about = ''): void =>
    watch.onProgress({ type: 'alerts', delivered: 0, failed: 1, error: about + errorMessage(error) });
  const pingAll = async (path: string, body: string): Promise<void> => {
    const pinged = alerts.channels.map(async (channel) => {
      if (channel.type !== 'ping') return;
      await sender.ping(channel, { path, body }, limit()).catch((error) => warn(error, `${channel.name}: `));
    });
    await Promise.all(pinged);
  };
  return {
    begin: () => pingAll('start', ''),
    /** Decides what only the end of a run shows, and sends what waits. */
    async send(mirror: OpenMirror, summary: RunSummary, reached: readonly string[]): Promise<void> {
      try {
        // A stopped run has no time for environments that it has not reached (R27).
        const stays = reached.length > 0 || watch.signal.aborted;
        const envIds = stays ? reached : await holdKnown(mirror, settings);
        await send(mirror, { alerts, settings, watch, sender, summary, envIds, signal: limit() });
      } catch (error) {
        warn(error);
      }
    },
    async end(summary: RunSummary | null): Promise<void> {
      await pingAll(String(summary === null ? 1 : exitCodeOfRun(summary)), summaryText(summary));
      await sender.close();
      dispose();
    },
  };
}

/** If the service did not list its environments, the run answers for those that the mirror knows as listed. */
async function holdKnown({ state, hold }: OpenMirror, { environments }: SyncSettings): Promise<readonly string[]> {
  const listed = (await state.environments()).filter((row) => row['missing_since'] === null);
  const known = listed.map((row) => ({ id: String(row['id']), name: String(row['name']), cron: null }));
  const envIds = wantedOf(known, environments).chosen.map(({ id }) => id);
  try {
    await hold(envIds);
    return envIds;
  } catch (error) {
    // The run that writes them decides and sends their alerts.
    if (error instanceof SyncError && error.recovery === 'locked') return [];
    throw error;
  }
}

interface SendInput {
  readonly alerts: AlertSettings;
  readonly settings: SyncSettings;
  readonly watch: WorkWatch<SyncEvent>;
  readonly sender: ChannelSender;
  readonly summary: RunSummary;
  readonly envIds: readonly string[];
  readonly signal: AbortSignal;
}

async function send(
  { state }: OpenMirror,
  { alerts, settings, watch, sender, signal, ...run }: SendInput,
): Promise<void> {
  const { summary, envIds } = run;
  const { recovery, error } = summary;
  const isAnswered = summary.server_time !== null;
  await state.endRunAlerts({
    ...{ rules: alerts.rules, run: summary.run ?? 0, now: summary.server_time ?? clock(), error, envIds },
    isTokenRefused: recovery === 'token' ? true : isAnswered ? false : null,
    // A run that was stopped does not show whether there is quota.
    isQuotaExhausted: recovery === 'quota' ? true : isAnswered && recovery === null ? false : null,
    streams: USUAL_STREAMS,
  });
  const sent = await sendAlerts(alerts.channels, {
    state,
    envIds,
    deliver: (channel, { message }, key) =>
      sender.deliver(channel, { message, key, pageUrl: alerts.pageUrl, source: settings.baseUrl }, signal),
    now: clock,
    signal,
  });
  if (sent.delivered + sent.failed > 0) watch.onProgress({ type: 'alerts', ...sent });
  for (const [channel, count] of await state.waitingDeliveries(envIds)) {
    if (alerts.channels.some(({ name }) => name === channel)) continue;
    const error = `${count} messages wait for channel ${channel}, which isn't configured`;
    watch.onProgress({ type: 'alerts', delivered: 0, failed: count, error });
  }
  // The earlier time counts, because no clock may delete alone (R1).
  const { server_time: now } = summary;
  if (now !== null) await state.pruneAlerts(earlierOf(now, clock()), envIds);
}

/** Limits each phase of a report, and all of them together once the run is to stop (R27). */
function deadlines(stop: AbortSignal) {
  const over = new AbortController();
  const startTimer = (): void => void setTimeout(() => over.abort(), STOPPING_MS).unref();
  stop.addEventListener('abort', startTimer, { once: true });
  if (stop.aborted) startTimer();
  return {
    limit: () => AbortSignal.any([over.signal, AbortSignal.timeout(SENDING_MS)]),
    // The signal of a schedule outlives its runs.
    dispose: () => stop.removeEventListener('abort', startTimer),
  };
}

function summaryText(summary: RunSummary | null): string {
  if (summary === null) return 'the run failed';
  const { run, status, rows_written, rows_deleted, rows_rejected, requests, error, streams } = summary;
  const counts = `${rows_written} rows written, ${rows_deleted} deleted, ${rows_rejected} rejected, ${requests} requests`;
  const problems = streams.flatMap((stream) =>
    stream.error === null ? [] : [`${stream.environment} ${stream.stream}: ${stream.error}`],
  );
  return [`run ${run ?? '-'}: ${status}`, counts, ...(error === null ? [] : [error]), ...problems].join('\n');
}
