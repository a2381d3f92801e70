import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { html } from '../html.ts';

interface LineChartOptions {
  readonly title: string;
  /** UTC days, such as `2026-11-20`. */
  readonly days: readonly string[];
  readonly lines: readonly { readonly label: string; readonly values: readonly (number | null)[] }[];
  readonly format: (value: number) => string;
  readonly fromZero: boolean;
}

/** Lines differ in dashes as well as in colour. */
const DASHES = ['', '8 4', '2 3', '10 3 2 3', '5 5', '1 4'];
/** Custom properties of the style sheet. */
const COLOURS = ['accent', 'orange', 'good', 'broken', 'bad', 'grey'];
/** The viewBox; the browser stretches it to the available space. */
const SIZE = 1000;

/** Lines over days, with a legend that shows values and a table of the numbers. Too few points to need a canvas. */
export function LineChart(options: LineChartOptions): VNode {
  const { title, days, lines, format } = options;
  const [pointed, setPointed] = useState<number | null>(null);
  const at = Math.min(pointed ?? days.length - 1, days.length - 1);
  const [low, high] = rangeOf(options);
  return html`<figure class="chart">
    <figcaption>${title} <span class="faint">${days[at]}</span></figcaption>
    <ul class="legend">${lines.map(
      ({ label, values }, i) =>
        html`<li key=${label}>${lineSample(i)} <span class="long">${label}</span> <b>${shown(values[at], format)}</b></li>`,
    )}</ul>
    <div class="plot" aria-hidden="true">
      <div class="scale">${[high, (low + high) / 2, low].map((value) => html`<span key=${value}>${format(value)}</span>`)}</div>
      <svg viewBox="0 0 ${SIZE} ${SIZE}" preserveAspectRatio="none" onPointerLeave=${() => setPointed(null)}
        onPointerMove=${(event: PointerEvent) => setPointed(dayAt(event, days.length))}>
        <path class="grid" d="M0 0H${SIZE}M0 ${SIZE / 2}H${SIZE}M0 ${SIZE}H${SIZE}" />
        ${pointed !== null && html`<path class="cursor" d="M${xOf(at, days.length)} 0V${SIZE}" />`}
        ${lines.map(
          ({ label, values }, i) =>
            html`<path key=${label} class="line ${isDot(values) ? 'dot' : ''}" style=${styleOf(i)} stroke-dasharray=${isDot(values) ? '' : DASHES[i % DASHES.length]} d=${pathOf(values, low, high)} />`,
        )}
      </svg>
      <div class="days"><span>${days[0]?.slice(5)}</span><span>${days[Math.floor(days.length / 2)]?.slice(5)}</span><span>${days.at(-1)?.slice(5)}</span></div>
    </div>
    <details><summary>Numbers<span class="hidden"> of ${title}</span></summary>${numbersTable(options)}</details>
  </figure>`;
}

const shown = (value: number | null | undefined, format: (value: number) => string): string =>
  value === null || value === undefined ? '–' : format(value);

const styleOf = (i: number) => ({ color: `var(--${COLOURS[i % COLOURS.length]})` });

const lineSample = (i: number): VNode =>
  html`<svg class="sample" viewBox="0 0 28 8" width="28" height="8" aria-hidden="true">
    <path class="line" style=${styleOf(i)} d="M0 4H28" stroke-dasharray=${DASHES[i % DASHES.length]} />
  </svg>`;

function rangeOf({ lines, fromZero }: LineChartOptions): [number, number] {
  const values = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const [least, most] = [Math.min(...values, fromZero ? 0 : 1), Math.max(...values, fromZero ? 1 : 0)];
  const margin = (most - least) * 0.1 || 0.05;
  // A fraction never exceeds 1, and counts are integers.
  return fromZero ? [0, most + (most % 2)] : [Math.max(0, least - margin), Math.min(1, most + margin)];
}

const isDot = (values: readonly (number | null)[]): boolean => values.filter((value) => value !== null).length === 1;

const xOf = (i: number, count: number): number => Math.round((i / Math.max(1, count - 1)) * SIZE);

function pathOf(values: readonly (number | null)[], low: number, high: number): string {
  const points = values.flatMap((value, i) =>
    value === null ? [] : [`${xOf(i, values.length)} ${Math.round(SIZE - ((value - low) / (high - low)) * SIZE)}`],
  );
  // A line with a single point is drawn as a dot.
  return points.length === 0 ? '' : `M${[...points, points.at(-1)].join('L')}`;
}

function dayAt({ clientX, currentTarget }: PointerEvent, count: number): number {
  const { left, width } = (currentTarget as Element).getBoundingClientRect();
  return Math.max(0, Math.min(count - 1, Math.round(((clientX - left) / width) * (count - 1))));
}

function numbersTable({ title, days, lines, format }: LineChartOptions): VNode {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Numbers of ${title}"><table class="numbers">
    <caption class="hidden">${title} by day</caption>
    <thead><tr><th scope="col">Day</th>${lines.map(({ label }) => html`<th key=${label} scope="col">${label}</th>`)}</tr></thead>
    <tbody>${days.map(
      (day, i) =>
        html`<tr key=${day}><th scope="row">${day}</th>${lines.map(({ label, values }) => html`<td key=${label}>${shown(values[i], format)}</td>`)}</tr>`,
    )}</tbody>
  </table></div>`;
}
