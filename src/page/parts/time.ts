import type { VNode } from 'preact';
import { nowMs } from '../clock.ts';
import { formatAge, formatInstant } from '../format.ts';
import { html } from '../html.ts';

/** How long ago, with the instant on hover. */
export function age(instant: string | null, never = 'never'): VNode {
  if (instant === null) return html`<span class="faint">${never}</span>`;
  return html`<time datetime=${instant} title=${formatInstant(instant)}>${formatAge(instant, nowMs.value)}</time>`;
}
