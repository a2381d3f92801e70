import type { VNode } from 'preact';
import type { FailingSubTest } from '../../page-data/page-data.ts';
import { html } from '../html.ts';
import { levelOf } from '../status-level.ts';
import type { StatusLevel } from './icon.ts';

const MAX_RUNS = 30;
const STEP = 5;
const HEIGHT = 18;
/** A worse result is taller, so the strip can be read without its colours. */
const HEIGHTS: Readonly<Record<StatusLevel, number>> = { good: 4, neutral: 2, warn: 9, bad: 14, broken: 18 };

/** The last runs of a sub-test, newest on the right. */
export function historyStrip(history: FailingSubTest['history']): VNode {
  const runs = history.slice(-MAX_RUNS);
  const summary = summaryOf(runs);
  const width = Math.max(1, runs.length) * STEP;
  return html`<svg class="strip" viewBox="0 0 ${width} ${HEIGHT}" width=${width} height=${HEIGHT} role="img" aria-label=${summary}>
    <title>${summary}</title>
    ${runs.map(({ start_time, status }, i) => {
      const level = levelOf(status);
      const height = HEIGHTS[level];
      const x = i * STEP;
      return html`<rect key=${start_time + i} class=${level} x=${x} y=${HEIGHT - height} width=${STEP - 1} height=${height} />`;
    })}
  </svg>`;
}

function summaryOf(runs: FailingSubTest['history']): string {
  if (runs.length === 0) return 'No history is mirrored';
  const counts = Object.entries(Object.groupBy(runs, ({ status }) => status));
  const parts = counts.map(([status, each = []]) => `${each.length} ${status}`);
  return `Last ${runs.length} runs: ${parts.join(', ')}`;
}
