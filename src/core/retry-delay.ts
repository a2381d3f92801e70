/** Header values by lower-case name, as an answer carried them. */
export type HeaderValues = Readonly<Record<string, string | undefined>>;

const BASE_MS = 500;
const CAP_MS = 30_000;

/** All three forms of an HTTP date: `Date.parse` alone takes `1.5` for a day in January, and years no instant has. */
const HTTP_DATE =
  /^[A-Z][a-z]{2,8},? (?:\d\d?[ -][A-Z][a-z]{2}[ -](?:\d{4}|\d\d)|[A-Z][a-z]{2} [ \d]\d) \d\d:\d\d:\d\d(?: \d{4})?(?: GMT| UTC)?$/;

/** As seconds at most 31 years: anything longer is a point in time or nonsense, never a delay. */
const COUNT = /^\d{1,9}$/;

export interface RetryWait {
  /** Tries that have failed so far, at least 1. */
  readonly failures: number;
  /** From 0 up to 1. */
  readonly random: number;
  /** What a 503 asked for; null without. */
  readonly retryAfterMs: number | null;
  readonly maxWaitMs: number;
}

/**
 * Milliseconds until the next try: exponential backoff with full jitter (R24), so that clients which failed together
 * do not come back together. What the service asked for is the least it may be, up to `maxWaitMs`.
 */
export function retryDelayMs({ failures, random, retryAfterMs, maxWaitMs }: RetryWait): number {
  const ceilingMs = Math.min(CAP_MS, BASE_MS * 2 ** (failures - 1));
  return Math.max(random * ceilingMs, Math.min(retryAfterMs ?? 0, maxWaitMs));
}

/** A header that counts in whole numbers; null when it is missing or malformed. */
export function countHeader(value: string | undefined): number | null {
  const text = value?.trim() ?? '';
  return COUNT.test(text) ? Number(text) : null;
}

/** Milliseconds since 1970 of an HTTP date; null when it is none. */
export function httpDateMs(value: string | undefined): number | null {
  const text = value?.trim() ?? '';
  if (!HTTP_DATE.test(text)) return null;
  const ms = Date.parse(/GMT|UTC/.test(text) ? text : `${text} GMT`);
  return Number.isNaN(ms) ? null : ms;
}

/**
 * Milliseconds that `Retry-After` asks for, in seconds or as a date; null when it is missing or malformed. A date is
 * compared with the answer's own `Date`, because the local clock may be days off (R1).
 */
export function retryAfterMs(headerValues: HeaderValues): number | null {
  const seconds = countHeader(headerValues['retry-after']);
  if (seconds !== null) return seconds * 1000;
  const untilMs = httpDateMs(headerValues['retry-after']);
  const nowMs = httpDateMs(headerValues.date);
  return untilMs === null || nowMs === null ? null : Math.max(0, untilMs - nowMs);
}
