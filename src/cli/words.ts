import type { Instant } from '../core/time/instant.ts';

/** The mode of a stream, with its reason unless the mode implies it: `scan (first)`, `feed`. */
export function modeText(mode: string, reason: string): string {
  return reason === mode || reason === 'increment' ? mode : `${mode} (${reason})`;
}

/** `512 B`, `1.5 KiB`, `50.9 MiB` */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [amount, unit] = bytes < 1024 ** 2 ? [bytes / 1024, 'KiB'] : [bytes / 1024 ** 2, 'MiB'];
  return `${amount.toFixed(1)} ${unit}`;
}

/** An instant to the minute: `2026-11-20 04:10 UTC`. */
export const minuteText = (instant: Instant): string => `${instant.slice(0, 16).replace('T', ' ')} UTC`;

/** An instant to the second. */
export const secondText = (instant: Instant): string => `${instant.slice(0, 19).replace('T', ' ')} UTC`;

/** Formats a duration in the largest unit of which it has at least two. */
export function span(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}
