import type { VNode } from 'preact';
import type { TrendGroup } from '../../page-data/page-data.ts';
import { countOf, formatCount, formatDuration, formatFraction } from '../format.ts';
import { html } from '../html.ts';
import { type DataColumn, dataTable } from '../parts/data-table.ts';
import { levelIcon, type StatusLevel } from '../parts/status.ts';

/** Compares groups: which got better or worse. */
export function groupsTable(groups: readonly TrendGroup[], caption: string, none: string): VNode {
  const columns = columnsWith(none, midpointOf(groups));
  return dataTable({ caption, columns, rows: groups, keyOf: ({ name }) => String(name) });
}

const columnsWith = (none: string, midpoint: number): readonly DataColumn<TrendGroup>[] => [
  {
    label: 'Group',
    kind: 'name',
    cell: ({ name }) =>
      html`<span class="clamp" title=${name}>${name ?? html`<span class="faint">${none}</span>`}</span>`,
  },
  { label: 'Pass rate', term: 'passRate', kind: 'number', cell: (group) => part(changeOf(group, midpoint).now) },
  { label: 'Change', cell: (group) => changeCell(changeOf(group, midpoint)) },
  { label: 'By day', cell: ({ pass_rate }) => sparkline(pass_rate) },
  { label: 'Runs', kind: 'number', cell: (group) => sumOf(group.run_count) },
  { label: 'Opened', kind: 'number', cell: (group) => sumOf(group.incidents_opened) },
  { label: 'Resolved', term: 'resolvedAt', kind: 'number', cell: (group) => sumOf(group.incidents_resolved) },
  { label: 'Open now', kind: 'number', cell: (group) => group.open_count },
  { label: 'Mean time to resolve', term: 'meanTime', kind: 'number', cell: meanTime },
];

const part = (value: number | null): VNode | string =>
  value === null ? html`<span class="faint">no runs</span>` : formatFraction(value);

const meanTime = ({ mean_hours_to_resolve: hours }: TrendGroup): VNode | string =>
  hours === null ? html`<span class="faint">none resolved</span>` : formatDuration(hours * 3600);

function changeCell({ now, before }: ReturnType<typeof changeOf>): VNode {
  if (now === null || before === null) return html`<span class="faint">not known</span>`;
  const direction = directionOf(now, before);
  const { level } = DIRECTIONS[direction];
  const points = Math.abs(now - before) * 100;
  return html`<span class="status ${level}">${levelIcon(level)}${direction === 'the same' ? direction : `${points.toFixed(1)} points ${direction}`}</span>`;
}

export function incidentsSentence(group: TrendGroup): string {
  const { mean_hours_to_resolve: hours, open_count } = group;
  const opened = countOf(sumOf(group.incidents_opened), 'incident');
  const mean = hours === null ? '' : `, after ${formatDuration(hours * 3600)} on average`;
  const resolved = `${formatCount(sumOf(group.incidents_resolved))} resolved${mean}`;
  return `${opened} opened, ${resolved}; ${formatCount(open_count)} open now.`;
}

const WIDTH = 120;
const HEIGHT = 22;

/** A fraction over time, scaled to the range of its values. */
function sparkline(values: readonly (number | null)[]): VNode {
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

/** The pass rate of a range of days; null if nothing ran then. */
function passRateOf({ run_count, pass_rate }: TrendGroup, from: number, to: number): number | null {
  const days = pass_rate
    .slice(from, to)
    .map((rate, i) => ({ rate, count: rate === null ? 0 : (run_count[from + i] ?? 0) }));
  const runs = sumOf(days.map(({ count }) => count));
  return runs === 0 ? null : sumOf(days.map(({ rate, count }) => count * (rate ?? 0))) / runs;
}

/** Where the newer half of the days begins. Days before the very first run are left out: nothing is known of them. */
function midpointOf(groups: readonly TrendGroup[]): number {
  const days = groups[0]?.run_count.length ?? 0;
  const firsts = groups.map(({ run_count }) => run_count.findIndex((count) => count > 0)).filter((first) => first >= 0);
  return Math.floor((Math.min(days, ...firsts) + days) / 2);
}

/** The pass rate from this day on, and of the days before it. */
const changeOf = (group: TrendGroup, midpoint: number) => ({
  now: passRateOf(group, midpoint, group.run_count.length),
  before: passRateOf(group, 0, midpoint),
});

/** A smaller difference is no change: half a percentage point. */
const LEAST_CHANGE = 0.005;

function directionOf(now: number, before: number): keyof typeof DIRECTIONS {
  if (Math.abs(now - before) < LEAST_CHANGE) return 'the same';
  return now > before ? 'better' : 'worse';
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

const DIRECTIONS = {
  better: { level: 'good', answer: 'Yes' },
  worse: { level: 'bad', answer: 'No' },
  'the same': { level: 'neutral', answer: 'Neither better nor worse' },
} as const;

export function trendAnswer(group: TrendGroup): { readonly level: StatusLevel; readonly text: string } {
  const midpoint = midpointOf([group]);
  const { now, before } = changeOf(group, midpoint);
  const half = group.run_count.length - midpoint;
  if (now === null) return { level: 'neutral', text: `No test ran in the last ${half} days.` };
  const passed = `${formatFraction(now)} of the runs passed in the last ${half} days`;
  if (before === null) return { level: 'neutral', text: `${passed}; none ran before.` };
  const { level, answer } = DIRECTIONS[directionOf(now, before)];
  return { level, text: `${answer}: ${passed}, ${formatFraction(before)} in the days before.` };
}
