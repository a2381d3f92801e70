import type { VNode } from 'preact';
import type { AssetColumns, LineageNode } from '../../page-data/page-data.ts';
import { countOf, formatCount } from '../format.ts';
import { html } from '../html.ts';
import { changeValues } from '../navigation.ts';
import { liveView } from '../parts/live-view.ts';
import { statusLabel } from '../parts/status.ts';
import { formatRoute } from '../route.ts';
import type { ColumnLineage } from './column-lineage.ts';
import type { LineageGraph } from './graph.ts';

interface NodePanel {
  readonly env: string;
  readonly node: LineageNode;
  readonly values: Readonly<Record<string, string>>;
  readonly graph: LineageGraph;
  readonly columns: ColumnLineage | null;
}

/** The selected node: its state, a link to its own view, and its columns on demand. */
export function nodePanel(panel: NodePanel): VNode {
  const { env, node, values } = panel;
  const isOpen = values['columns'] === 'true';
  return html`<section class="panel" aria-labelledby="panel-name">
    <h3 id="panel-name" class="long"><span class="clamp" title=${node.name ?? node.id}>${node.name ?? node.id}</span></h3>
    <p>${statusLabel(node.status, 'no test results')} ${node.failing_count > 0 && `${countOf(node.failing_count, 'failing test')}. `}
      ${formatCount(node.upstream_count)} directly upstream, ${formatCount(node.downstream_count)} downstream.${' '}
      <a href=${formatRoute({ view: 'asset', env, values: { id: node.id } })}>Start at this asset</a></p>
    <button type="button" aria-expanded=${isOpen} onClick=${() => changeValues({ columns: isOpen ? null : 'true', column: null, columnsFrom: null })}>
      ${isOpen ? 'Hide' : 'Show'} its columns</button>
    ${isOpen && columnsSection(panel)}
  </section>`;
}

function columnsSection({ env, node, values, graph, columns }: NodePanel): VNode {
  const from = Math.max(0, Number(values['columnsFrom'] ?? 0) || 0);
  const parameters = { asset_id: node.id, offset: String(from) };
  return html`<div>
    ${liveView({ name: 'columns', env, parameters }, (found) => columnList(found, from, values['column'] ?? null))}
    ${
      columns !== null &&
      html`<div class="ends">
      ${ends('Upstream', columns.upstream, graph)} ${ends('Downstream', columns.downstream, graph)}
      ${columns.cut && html`<p class="faint">Not all of them are shown.</p>`}
    </div>`
    }
  </div>`;
}

function columnList({ total, rows }: AssetColumns, from: number, selected: string | null): VNode {
  const go = (to: number): void => changeValues({ columnsFrom: to <= 0 ? null : String(to) });
  return html`<div>
    <p class="faint">${countOf(total, 'column')}. Choose one to see its upstream and downstream columns.</p>
    <ul class="columns">${rows.map(({ id, name, data_type: type, tests }) => {
      const details = [type, tests !== null && tests > 0 && countOf(tests, 'test')].filter(Boolean).join(', ');
      return html`<li key=${id}><button type="button" aria-pressed=${id === selected} title=${name}
        onClick=${() => changeValues({ column: id === selected ? null : id })}><span class="clamp">${name}</span></button>
        <span class="faint clamp">${details}</span></li>`;
    })}</ul>
    ${
      total > rows.length &&
      html`<p class="pager">
      <button type="button" disabled=${from === 0} onClick=${() => go(from - 200)}>Previous</button>
      <span>${formatCount(from + 1)} to ${formatCount(from + rows.length)} of ${formatCount(total)}</span>
      <button type="button" disabled=${from + rows.length >= total} onClick=${() => go(from + rows.length)}>Next</button></p>`
    }
  </div>`;
}

/** The columns at the other end of the edges. Those of visible assets can be selected. */
function ends(title: string, nodes: readonly LineageNode[], { nodes: shown }: LineageGraph): VNode {
  return html`<div>
    <h4>${title}</h4>
    ${nodes.length === 0 && html`<p class="faint">none known</p>`}
    <ul>${nodes.map(({ id, name, asset_id }) => {
      const asset = shown.get(asset_id ?? '')?.node;
      const label = `${asset?.name ?? asset_id ?? 'an unknown asset'}.${name ?? id}`;
      if (asset === undefined)
        return html`<li key=${id} class="long">${label} <span class="faint">(asset not shown)</span></li>`;
      return html`<li key=${id}><button type="button" class="plain long" onClick=${() => changeValues({ node: asset.id, column: id })}>${label}</button></li>`;
    })}</ul>
  </div>`;
}
