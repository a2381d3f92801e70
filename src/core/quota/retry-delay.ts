/** The header values of a response, by lower-case name. */
export type HeaderValues = Readonly<Record<string, string | undefined>>;

const BASE_MS = 500;
const CAP_MS = 30_000;

/** The forms of an HTTP date. `Date.parse` would accept `1.5` as a day, and years that an instant cannot have. */
const HTTP_DATE =
  /^[A-Z][a-z]{2,8},? (?:\d\d?[ -][A-Z][a-z]{2}[ -](?:\d{4}|\d\d)|[A-Z][a-z]{2} [ \d]\d) \d\d:\d\d:\d\d(?: \d{4})?(?: GMT| UTC)?$/;

/** At most nine digits, which is 31 years in seconds: a longer number cannot be a delay. */
const COUNT = /^\d{1,9}$/;

export interface RetryWait {
  /** How many tries have failed so far, at least 1. */
  readonly failures: number;
  /** A random number from 0 to 1. */
  readonly random: number;
  /** The delay that a 503 requested; null if it requested none. */
  readonly retryAfterMs: number | null;
  readonly maxWaitMs: number;
}

/**
 * Milliseconds until the next try: exponential backoff with full jitter (R24), so clients that failed together don't
 * return together. Never less than the service requested, up to `maxWaitMs`.
 */
export function retryDelayMs({ failures, random, retryAfterMs, maxWaitMs }: RetryWait): number {
  const ceilingMs = Math.min(CAP_MS, BASE_MS * 2 ** (failures - 1));
  return Math.max(random * ceilingMs, Math.min(retryAfterMs ?? 0, maxWaitMs));
}

/** A header that is a whole number; null if it is missing or malformed. */
export function countHeader(value: string | undefined): number | null {
  const text = value?.trim() ?? '';
  return COUNT.test(text) ? Number(text) : null;
}

/** The milliseconds since 1970 of an HTTP date; null if it is not one. */
export function httpDateMs(value: string | undefined): number | null {
  const text = value?.trim() ?? '';
  if (!HTTP_DATE.test(text)) return null;
  const ms = Date.parse(/GMT|UTC/.test(text) ? text : `${text} GMT`);
  return Number.isNaN(ms) ? null : ms;
}

/**
 * The milliseconds that `Retry-After` requests, in seconds or as a date; null if it is missing or malformed. A date is
 * compared with the response's own `Date`, because the local clock may be days off (R1).
 */
export function retryAfterMs(values: HeaderValues): number | null {
  const seconds = countHeader(values['retry-after']);
  if (seconds !== null) return seconds * 1000;
  const untilMs = httpDateMs(values['retry-after']);
  const nowMs = httpDateMs(values.date);
  return untilMs === null || nowMs === null ? null : Math.max(0, untilMs - nowMs);
}
