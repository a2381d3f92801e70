import { addSeconds } from '../../../src/core/time/instant.ts';
import type { CollectionName } from '../../../src/streams/catalogue.ts';
import type { RunSummary, StreamSummary } from '../../../src/sync/summary.ts';
import { SCANNED_STREAMS } from '../../support/catalogue.ts';
import type { SyncCommand } from '../commands.ts';
import { isScan } from '../request-log.ts';
import { DAY, HOUR } from '../world.ts';
import type { Invariant } from './commit-transition.ts';

interface FinishedScan {
  /** T when it ended, or at the end of its run if no response had a date by then. */
  readonly at: string | null;
  readonly pages: number;
  /** The run in which it began. */
  readonly run: number;
}

/** How long a stream may go without a scan (R13). */
function scanIntervalSeconds(fullEveryDays: SyncCommand['fullEveryDays'], pages: number): number {
  return fullEveryDays === 'auto' ? Math.min(7 * DAY, Math.max(HOUR, pages * 600)) : fullEveryDays * DAY;
}

/** Counts the pages of each scan, and checks after each run that no stream that is done was due for another (R13). */
export function scansAreTimely(): {
  readonly record: Invariant;
  overdue(summary: RunSummary, fullEveryDays: SyncCommand['fullEveryDays']): string[];
  /** A successful cycle with `--full` has scanned every stream that it reports as done, from the first page on (R6). */
  missing(summary: RunSummary): string[];
  /** How long after its last scan the stream is due for another one under `auto`. */
  autoSeconds(envId: string, stream: CollectionName): number;
} {
  const counted = new Map<string, number>();
  const finished = new Map<string, FinishedScan>();
  return {
    record(transition) {
      const key = `${transition.envId} ${transition.stream}`;
      const { before, after, commit, read, page, serverTime } = transition;
      if (before.round === null && before.waiting === null) counted.set(key, 0);
      if (page !== null && read !== null && after.round?.mode === 'scan' && isScan(read))
        counted.set(key, (counted.get(key) ?? 0) + 1);
      const pages = counted.get(key) ?? 0;
      // After an end or a discard, the next round may begin with a slice that is no transition of its own (R27).
      if (after.round === null && after.waiting === null) counted.delete(key);
      // A waiting scan without anything left to read ends at once.
      const ended = before.round ?? (after.waiting === null ? before.waiting : null);
      if (commit.kind !== 'round-end' || ended?.mode !== 'scan') return [];
      finished.set(key, { at: serverTime, pages, run: ended.run });
      const stored = commit.checkpoint.scanPages;
      return stored === pages ? [] : [`its scan took ${pages} pages, but the checkpoint says ${stored}`];
    },
    overdue({ run, cycle, server_time: now, streams }, fullEveryDays) {
      for (const [key, scan] of finished) finished.set(key, { ...scan, at: scan.at ?? now });
      if (now === null || run !== cycle) return [];
      return scannedIn(streams).flatMap(({ env_id, stream }) => {
        const scan = finished.get(`${env_id} ${stream}`);
        const interval = scanIntervalSeconds(fullEveryDays, scan?.pages ?? 0);
        if (scan === undefined || scan.at === null || now < addSeconds(scan.at, interval)) return [];
        return [
          `${env_id} ${stream} is done at ${now}, but its last scan, of ${scan.pages} pages, ended at ${scan.at}`,
        ];
      });
    },
    missing({ cycle, status, streams }) {
      const isMissing = ({ env_id, stream }: StreamSummary): boolean =>
        (finished.get(`${env_id} ${stream}`)?.run ?? 0) < Number(cycle);
      return status !== 'done'
        ? []
        : scannedIn(streams)
            .filter(isMissing)
            .map(({ env_id, stream }) => `${env_id} ${stream} is done without a scan that began in cycle ${cycle}`);
    },
    autoSeconds: (envId, stream) => scanIntervalSeconds('auto', finished.get(`${envId} ${stream}`)?.pages ?? 0),
  };
}

function scannedIn(streams: readonly StreamSummary[]): StreamSummary[] {
  return streams.filter(({ stream, status }) => status === 'done' && SCANNED_STREAMS.includes(stream as never));
}
