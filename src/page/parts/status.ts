import type { VNode } from 'preact';
import { html } from '../html.ts';
import { levelOf } from '../status-level.ts';
import { levelIcon } from './icon.ts';

/** A status with an icon for its level. */
export function status(text: string | null, unknown = 'never run'): VNode {
  const level = levelOf(text);
  return html`<span class="status ${level}">${levelIcon(level)}<span>${text ?? unknown}</span></span>`;
}
