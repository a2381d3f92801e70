import { CATALOGUE } from '../streams/catalogue.ts';
import type { MirrorSnapshot } from './mirror-reads.ts';

export const LAST_SYNC = "select max(ended_at) as at from sync_runs where status = 'done' and command = 'sync'";

/** Seconds since the last sync that ended without problems; null if there was none. */
export function syncAgeSeconds(view: MirrorSnapshot, nowMs: number): number | null {
  const [last] = view.rows({ sql: LAST_SYNC, values: {} });
  return secondsSince(last?.['at'], nowMs);
}

/** The streams that every run reads. */
const USUAL_STREAMS = JSON.stringify(CATALOGUE.filter(({ optional }) => !optional).map(({ name }) => name));

/** A stream without a watermark was never read to its end, unless the source does not have it yet. */
const STALEST = `select e.id as environment,
    iif(total(c.watermark is null and c.unavailable is not 1) = 0, min(c.watermark), null) as at
  from environments e join json_each(@streams) s
    left join sync_checkpoints c on c.env_id = e.id and c.stream = s.value
  where e.missing_since is null group by e.id`;

/** Seconds since the time up to which the source's changes are in the mirror, in the stalest stream of an environment. */
export function environmentAges(
  view: MirrorSnapshot,
  nowMs: number,
): readonly { readonly environment: string; readonly seconds: number | null }[] {
  const rows = view.rows({ sql: STALEST, values: { streams: USUAL_STREAMS } });
  return rows.map((row) => ({ environment: String(row['environment']), seconds: secondsSince(row['at'], nowMs) }));
}

/** The streams that some run has read, but for those that were never live at the source. */
const OLDEST = `select count(*) as streams, total(c.watermark is null) as unread, min(c.watermark) as at
  from sync_checkpoints c join environments e on e.id = c.env_id join json_each(@streams) s on s.value = c.stream
  where e.missing_since is null and not (c.unavailable is 1 and c.watermark is null)`;

/** The age of the stalest stream that runs read; null if there is none, or one was never read to its end. */
export function oldestAgeSeconds(view: MirrorSnapshot, nowMs: number): number | null {
  const [found] = view.rows({ sql: OLDEST, values: { streams: USUAL_STREAMS } });
  return found?.['unread'] === 0 ? secondsSince(found['at'], nowMs) : null;
}

const secondsSince = (at: unknown, nowMs: number): number | null =>
  typeof at === 'string' ? Math.max(0, Math.round((nowMs - Date.parse(at)) / 1000)) : null;
