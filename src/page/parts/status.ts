import type { VNode } from 'preact';
import { html } from '../html.ts';

/** How good or bad something is, best first. Each level has its own shape, so colour is never the only signal. */
export type StatusLevel = 'good' | 'neutral' | 'warn' | 'bad' | 'broken';

export const ICON_PATHS: Readonly<Record<StatusLevel, string>> = {
  good: 'M3 8.5l3.2 3.2L13 4.8',
  neutral: 'M4 8h8',
  warn: 'M8 2.2L14.5 13.6H1.5ZM8 6.4v3.4M8 11.6v.4',
  bad: 'M4 4l8 8M12 4l-8 8',
  broken: 'M5.3 1.8h5.4l3.5 3.5v5.4l-3.5 3.5H5.3L1.8 10.7V5.3ZM8 4.8v4M8 11v.4',
};

/** Hidden from screen readers, because the text next to it says the same. */
export const levelIcon = (level: StatusLevel): VNode =>
  html`<svg class="icon ${level}" viewBox="0 0 16 16" aria-hidden="true"><path d=${ICON_PATHS[level]} /></svg>`;

const STATUSES: readonly (readonly [StatusLevel, readonly string[]])[] = [
  ['good', ['PASS', 'done']],
  ['warn', ['WARN', 'problems', 'held', 'waiting', 'stopped', 'interrupted', 'unavailable']],
  ['bad', ['FAIL', 'denied', 'failed', 'refused']],
  ['broken', ['ERROR']],
];

/** The level of a test result or of the end of a run. Any other status is neutral. */
export const levelOf = (status: string | null): StatusLevel =>
  STATUSES.find(([, statuses]) => statuses.includes(status ?? ''))?.[0] ?? 'neutral';

export function statusLabel(text: string | null, unknown = 'never run'): VNode {
  const level = levelOf(text);
  return html`<span class="status ${level}">${levelIcon(level)}<span>${text ?? unknown}</span></span>`;
}
