import type { VNode } from 'preact';
import { html } from '../html.ts';
import { levelIcon, type StatusLevel } from './icon.ts';

const LEVELS: Readonly<Record<string, StatusLevel>> = {
  PASS: 'good',
  WARN: 'warn',
  FAIL: 'bad',
  ERROR: 'broken',
  done: 'good',
  running: 'neutral',
  problems: 'warn',
  held: 'warn',
  waiting: 'warn',
  stopped: 'warn',
  interrupted: 'warn',
  unavailable: 'warn',
  denied: 'bad',
  failed: 'bad',
  refused: 'bad',
};

/** The level of a test result or of the end of a run. An unknown status is neutral. */
export const levelOf = (status: string | null): StatusLevel =>
  status === null ? 'neutral' : (LEVELS[status] ?? 'neutral');

/** A status with an icon for its level. */
export function status(text: string | null, unknown = 'never run'): VNode {
  const level = levelOf(text);
  return html`<span class="status ${level}">${levelIcon(level)}<span>${text ?? unknown}</span></span>`;
}
