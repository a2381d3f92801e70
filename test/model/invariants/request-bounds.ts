import type { PageRequest } from '../../../src/core/ports/source.ts';
import { addDays, addSeconds, type Instant } from '../../../src/core/time/instant.ts';

const LOOKBACK_DAYS = 89;
const MAX_URL_BYTES = 8000;

/**
 * No request exceeds the limits of the service: bounds at most 89 days before the newest server time, and none without
 * one (R3), pages of at most 2000 rows (R22), at most 1000 values, URLs below 8 KB (R12). `wasUndated`: the run has
 * sent requests before it knew a server time, and may have prepared this one then (R1).
 */
export function requestBounds(
  request: PageRequest,
  { now, latest, wasUndated }: { now: Instant | null; latest: Instant | null; wasUndated: boolean },
): readonly string[] {
  const { path, query } = request;
  const found: string[] = [];
  const limit = Number(query['limit'] ?? 0);
  if (!(limit >= 1 && limit <= 2000)) found.push(`limit ${query['limit']}`);
  for (const name of ['synced_since', 'deleted_since']) {
    const bound = query[name];
    if (bound !== undefined && (latest === null || String(bound) < addDays(latest, -LOOKBACK_DAYS)))
      found.push(`${name}=${bound}, at ${latest}`);
  }
  const from = query['start_time_from'];
  if (from !== undefined && (now === null || String(from) < addSeconds(addDays(now, -LOOKBACK_DAYS - 1), -3600)))
    found.push(`start_time_from=${from}, at ${now}`);
  if (path.length === 4 && from === undefined && !wasUndated)
    found.push('a history without start_time_from: the service returns only 30 days');
  for (const [name, value] of Object.entries(query))
    if (Array.isArray(value) && (value.length === 0 || value.length > 1000)) found.push(`${value.length} of ${name}`);
  if (bytesOf(request) >= MAX_URL_BYTES) found.push(`a URL of ${bytesOf(request)} bytes`);
  return found.map((what) => `${path.join('/')}: ${what}`);
}

function bytesOf({ path, query, cursor }: PageRequest): number {
  const pairs = Object.entries({ ...query, ...(cursor === null ? {} : { cursor }) }).flatMap(([name, value]) =>
    [value].flat().map((each) => `${name}=${encodeURIComponent(String(each))}&`),
  );
  return [...path.map((segment) => `${encodeURIComponent(segment)}/`), ...pairs].join('').length;
}
