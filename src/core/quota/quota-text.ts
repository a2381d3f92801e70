import { isJsonObject } from '../json.ts';
import { type NotedRequest, type QuotaState, UNKNOWN_QUOTA } from './quota-state.ts';
import type { Pause, RateWindow, TimeSpan } from './rate-window.ts';

/** States of other versions are ignored. */
const VERSION = 1;

/** The state as text. JSON has no infinite times; they become null. */
export function textOfQuota({ window, inFlight }: QuotaState): string {
  return JSON.stringify({ version: VERSION, window, inFlight });
}

/** Parses a state written by `textOfQuota`; anything else yields an empty state. */
export function quotaOfText(text: string): QuotaState {
  const { version, window, inFlight } = parsed(text);
  if (version !== VERSION || !isJsonObject(window) || !Array.isArray(inFlight) || !inFlight.every(isNoted))
    return UNKNOWN_QUOTA;
  const rateWindow = windowOf(window);
  return rateWindow === null ? UNKNOWN_QUOTA : { window: rateWindow, inFlight };
}

function windowOf(record: Readonly<Record<string, unknown>>): RateWindow | null {
  const { remaining, resetAtMs, uncounted, pause, refusals, refusedSinceMs } = record;
  const pauseOf = pause === null ? null : isPause(pause) ? { ...pause, untilMs: timeOf(pause.untilMs) } : undefined;
  if (pauseOf === undefined || !isCount(uncounted) || !isCount(refusals)) return null;
  if (!(remaining === null || isCount(remaining)) || !isTime(resetAtMs) || !isTime(refusedSinceMs)) return null;
  // Earlier versions don't write `sure`.
  const sure = isSpan(record['sure']) ? record['sure'] : null;
  return { remaining, resetAtMs: timeOf(resetAtMs), sure, uncounted, pause: pauseOf, refusals, refusedSinceMs };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isTime(value: unknown): value is number | null {
  return value === null || Number.isFinite(value);
}

function timeOf(ms: number | null): number {
  return ms ?? Number.NEGATIVE_INFINITY;
}

function isSpan(value: unknown): value is TimeSpan {
  return isJsonObject(value) && [value['fromMs'], value['untilMs']].every(Number.isFinite);
}

function isPause(value: unknown): value is Omit<Pause, 'untilMs'> & { untilMs: number | null } {
  return isJsonObject(value) && isTime(value['untilMs']) && ['quota', 'rate-limited'].includes(String(value['reason']));
}

function isNoted(value: unknown): value is NotedRequest {
  if (!isJsonObject(value)) return false;
  const { id, owner, uncounted, sentMs, deadlineMs } = value;
  return (
    typeof id === 'string' &&
    typeof owner === 'string' &&
    isCount(uncounted) &&
    [sentMs, deadlineMs].every(Number.isFinite)
  );
}
