import type { VNode } from 'preact';
import type { LineageNode } from '../../page-data/page-data.ts';
import { formatCount, shorten } from '../format.ts';
import { html } from '../html.ts';
import { ICON_PATHS, levelOf } from '../parts/status.ts';
import type { ColumnLineage } from './column-lineage.ts';
import { type LineageGraph, MAX_NODES } from './graph.ts';
import type { GraphItem } from './graph-items.ts';
import { type GraphPlaces, type GraphPoint, NODE_HEIGHT, NODE_WIDTH } from './place.ts';

export interface GraphViewOptions {
  readonly graph: LineageGraph;
  readonly centre: string;
  readonly places: GraphPlaces;
  /** The id of the node shown in the panel below. */
  readonly selected: string | null;
  readonly columns: ColumnLineage | null;
  /** Increases each time the whole graph is laid out again. */
  readonly arrangement: number;
  arrange(): void;
  press(item: GraphItem): void;
}

const MAX_CHARACTERS = 25;
const MAX_NAME_CHARACTERS = 200;

/** The edges between assets, and above them the edges of the selected column. */
export function renderEdges({ graph, places, columns }: GraphViewOptions): VNode {
  const line = (from: string, to: string, name: string): VNode | null => {
    const [start, end] = [places.get(from), places.get(to)];
    if (start === undefined || end === undefined) return null;
    return html`<path key="${name} ${JSON.stringify([from, to])}" class=${name} d=${curve(start, end)} />`;
  };
  return html`<g aria-hidden="true">
    ${graph.edges.map(({ from, to }) => line(from, to, 'edge'))}
    ${columns?.upstream.map(({ asset_id }) => asset_id !== null && line(asset_id, columns.asset, 'edge column'))}
    ${columns?.downstream.map(({ asset_id }) => asset_id !== null && line(columns.asset, asset_id, 'edge column'))}
  </g>`;
}

function curve(from: GraphPoint, to: GraphPoint): string {
  const [start, end] = [from.x + NODE_WIDTH / 2, to.x - NODE_WIDTH / 2];
  const bend = Math.max(40, Math.abs(end - start) / 2);
  return `M${start} ${from.y}C${start + bend} ${from.y} ${end - bend} ${to.y} ${end} ${to.y}`;
}

/** The attributes that nodes and folds share. */
type ItemAttributes = Readonly<Record<string, unknown>>;

export const renderItem = (item: GraphItem, options: GraphViewOptions, attributes: ItemAttributes): VNode =>
  item.kind === 'node' ? renderNode(item, options, attributes) : renderFold(item, options, attributes);

function renderNode(
  { node, x, y }: GraphItem & { readonly kind: 'node' },
  options: GraphViewOptions,
  attributes: ItemAttributes,
): VNode {
  const name = node.name ?? node.id;
  const level = levelOf(node.status);
  const columns = columnsIn(node.id, options.columns);
  const kinds = `node ${node.id === options.centre ? 'centre' : ''}`;
  return html`<g ...${attributes} class=${kinds} aria-pressed=${node.id === options.selected}
      transform="translate(${x - NODE_WIDTH / 2} ${y - NODE_HEIGHT / 2})">
    <title>${accessibleName(node)}</title>
    <rect width=${NODE_WIDTH} height=${NODE_HEIGHT} rx="6" />
    <svg width=${NODE_WIDTH} height=${NODE_HEIGHT} aria-hidden="true">
      <text class="name" x="10" y="19">${shorten(name, MAX_CHARACTERS)}</text>
      ${node.status !== null && html`<svg class="icon ${level}" x="10" y="26" width="13" height="13" viewBox="0 0 16 16"><path d=${ICON_PATHS[level]} /></svg>`}
      <text class="below" x=${node.status === null ? 10 : 28} y="37">${columns.length > 0 ? columnText(columns) : statusText(node, level)}</text>
    </svg>
  </g>`;
}

const statusText = (node: LineageNode, level: string): VNode =>
  html`<tspan><tspan class=${node.status === null ? 'faint' : level}>${stateOf(node)}</tspan><tspan class="faint"> · ${kindOf(node)}</tspan></tspan>`;

const columnText = (names: readonly string[]): VNode =>
  html`<tspan class="column">${shorten(`column ${names.join(', ')}`, MAX_CHARACTERS)}</tspan>`;

/** The columns of this asset that are linked to the selected column. */
function columnsIn(asset: string, columns: ColumnLineage | null): string[] {
  if (columns === null) return [];
  const linked = [...columns.upstream, ...columns.downstream]
    .filter(({ asset_id }) => asset_id === asset)
    .map(({ name, id }) => name ?? id);
  return columns.asset === asset ? [columns.name ?? columns.id, ...linked] : linked;
}

/** The accessible name of a node, which also appears on hover, in full. */
const accessibleName = (node: LineageNode): string =>
  `${shorten(node.name ?? node.id, MAX_NAME_CHARACTERS)} ${stateOf(node)} · ${kindOf(node)}`;

const kindOf = ({ kind }: LineageNode): string => kind ?? 'not in the mirror';

const stateOf = ({ status, failing_count }: LineageNode): string =>
  `${status ?? 'no results'}${failing_count > 0 ? ` (${formatCount(failing_count)})` : ''}`;

const FOLD_WIDTH = 44;
const FOLD_HEIGHT = 20;

function renderFold(
  item: GraphItem & { readonly kind: 'more' | 'close' },
  { graph }: GraphViewOptions,
  attributes: ItemAttributes,
): VNode {
  const { fold } = item;
  const name = shorten(graph.nodes.get(fold.id)?.node.name ?? fold.id, MAX_NAME_CHARACTERS);
  const direction = fold.direction === 'up' ? 'upstream' : 'downstream';
  const isFull = item.kind === 'more' && graph.nodes.size >= MAX_NODES;
  const says =
    item.kind === 'close'
      ? `Hide what is ${direction} of ${name}`
      : `Show more of the ${formatCount(fold.hidden)} ${direction} of ${name}`;
  const label = isFull
    ? `${formatCount(fold.hidden)} more ${direction} of ${name}: ${MAX_NODES} assets are shown, the maximum; close a fold first`
    : says;
  return html`<g ...${attributes} class="fold" aria-disabled=${isFull}
      transform="translate(${item.x - FOLD_WIDTH / 2} ${item.y - FOLD_HEIGHT / 2})">
    <title>${label}</title>
    <rect width=${FOLD_WIDTH} height=${FOLD_HEIGHT} rx="10" />
    <text x=${FOLD_WIDTH / 2} y="14">${item.kind === 'close' ? '−' : `+${formatCount(fold.hidden)}`}</text>
  </g>`;
}
