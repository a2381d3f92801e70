import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { formatAge, formatInstant } from '../format.ts';
import { html } from '../html.ts';
import { reportData } from '../report-data.ts';

/** The time for ages, fixed in a report. It advances in steps, so the page redraws only if an age may have changed. */
export const nowMs = signal(reportData === null ? Date.now() : Date.parse(reportData.madeAt));

if (reportData === null)
  setInterval(() => {
    nowMs.value = Date.now();
  }, 15_000);

/** How long ago, with the instant on hover. */
export function age(instant: string | null, never = 'never'): VNode {
  if (instant === null) return html`<span class="faint">${never}</span>`;
  return html`<time datetime=${instant} title=${formatInstant(instant)}>${formatAge(instant, nowMs.value)}</time>`;
}
