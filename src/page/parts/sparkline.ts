import type { VNode } from 'preact';
import { formatFraction } from '../format.ts';
import { html } from '../html.ts';

const WIDTH = 120;
const HEIGHT = 22;

/** A fraction over time, scaled to the range of its values. */
export function sparkline(values: readonly (number | null)[]): VNode {
  const known = values.filter((value) => value !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  if (known.length === 0) return html`<span class="faint">no runs</span>`;
  const summary = `from ${formatFraction(least)} to ${formatFraction(most)}`;
  const points = values.flatMap((value, i) => {
    if (value === null) return [];
    const x = (i / Math.max(1, values.length - 1)) * (WIDTH - 4) + 2;
    const y = most === least ? HEIGHT / 2 : HEIGHT - 3 - ((value - least) / (most - least)) * (HEIGHT - 6);
    return [`${x.toFixed(1)},${y.toFixed(1)}`];
  });
  return html`<svg class="sparkline" viewBox="0 0 ${WIDTH} ${HEIGHT}" width=${WIDTH} height=${HEIGHT} role="img" aria-label=${summary}>
    <title>${summary}</title><polyline points=${points.join(' ')} />
  </svg>`;
}
