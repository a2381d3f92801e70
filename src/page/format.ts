const UNITS: readonly (readonly [unit: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
];

/** A duration in its two largest units: `3 d 4 h`. */
export function formatDuration(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? '0 s' : parts.join(' ');
}

/** How long ago an instant was, in its largest unit. A future instant counts as now. */
export function formatAge(instant: string, nowMs: number): string {
  const seconds = Math.floor((nowMs - Date.parse(instant)) / 1000);
  const [unit, size] = UNITS.find(([, each]) => seconds >= each) ?? ['s', 1];
  return seconds < 1 ? 'now' : `${Math.floor(seconds / size)} ${unit} ago`;
}

/** An instant to the minute, in UTC as everywhere in the mirror. */
export const formatInstant = (instant: string): string => `${instant.slice(0, 10)} ${instant.slice(11, 16)} UTC`;

const COUNT = new Intl.NumberFormat('en');
export const formatCount = (count: number): string => COUNT.format(count);

/** `1 test`, `2 tests`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** Formats a fraction from 0 to 1. Less than all is never rounded up to 100 %. */
export function formatFraction(fraction: number): string {
  const percent = fraction < 1 ? Math.min(99.9, fraction * 100) : 100;
  return `${percent.toFixed(percent === 0 || percent === 100 ? 0 : 1)} %`;
}

/** Truncates a text, ending it with `…`. */
export const shorten = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : `${[...text.slice(0, maxLength)].slice(0, maxLength - 1).join('')}…`;
