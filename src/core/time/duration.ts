export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const DAY_SECONDS = 86_400;

const SECONDS = { s: 1, m: 60, h: 3600, d: DAY_SECONDS } as const;

/** How a duration is written, for messages. */
export const DURATION_FORM = 'a number with its unit, such as 90s, 15m, 2h or 7d';

/** The seconds of a duration in that form; null for any other text. */
export function durationSeconds(text: string): number | null {
  const [, number, unit] = /^(\d{1,9}(?:\.\d{1,9})?)([smhd])$/.exec(text) ?? [];
  return unit === undefined ? null : Number(number) * SECONDS[unit as keyof typeof SECONDS];
}
