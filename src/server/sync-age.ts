import type { MirrorSnapshot } from './mirror-reads.ts';

export const LAST_SYNC = "select max(ended_at) as at from sync_runs where status = 'done' and command = 'sync'";

/** Seconds since the last sync that ended without problems; null if there was none. */
export function syncAgeSeconds(view: MirrorSnapshot, nowMs: number): number | null {
  const [last] = view.rows({ sql: LAST_SYNC, values: {} });
  const at = last?.['at'];
  return typeof at === 'string' ? Math.max(0, Math.round((nowMs - Date.parse(at)) / 1000)) : null;
}
