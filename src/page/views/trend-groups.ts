import type { VNode } from 'preact';
import type { TrendGroup } from '../../page-data/page-data.ts';
import { countOf, formatCount, formatDuration, formatFraction } from '../format.ts';
import { html } from '../html.ts';
import { type DataColumn, dataTable } from '../parts/data-table.ts';
import { levelIcon } from '../parts/status.ts';
import { changeOf, DIRECTION_LEVELS, directionOf, midpointOf, sumOf, type TrendChange } from './trend-summary.ts';

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

function changeCell(change: TrendChange): VNode {
  const direction = directionOf(change);
  if (direction === null || change.now === null || change.before === null)
    return html`<span class="faint">not known</span>`;
  const level = DIRECTION_LEVELS[direction];
  const points = Math.abs(change.now - change.before) * 100;
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
