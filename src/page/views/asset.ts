import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AssetDetail, AssetsFound } from '../../page-data/page-data.ts';
import { countOf } from '../format.ts';
import { component, html } from '../html.ts';
import type { LineageOptions } from '../lineage/lineage.ts';
import { changeValues } from '../navigation.ts';
import { dataTable } from '../parts/data-table.ts';
import { assetLink } from '../parts/links.ts';
import { liveView } from '../parts/live-view.ts';
import { notice } from '../parts/notice.ts';
import type { ViewFrame } from '../view-frame.ts';
import { assetFacts, assetTests } from './asset-detail.ts';

/** What is upstream and downstream of an asset? */
export function assetView(frame: ViewFrame): VNode {
  const { environment, values } = frame;
  const { id, q = '' } = values;
  const env = environment.env_id;
  return html`<div>
    ${component(SearchForm, { q })}
    ${q !== '' && liveView({ name: 'search', env, parameters: { q } }, (found) => assetsFound(found, env))}
    ${id === undefined && q === '' && html`<p class="faint">Search for an asset by part of its name, id or path.</p>`}
    ${id !== undefined && liveView({ name: 'asset', env, parameters: { id } }, (detail) => assetSections(detail, frame))}
  </div>`;
}

/** The pause in typing after which the page searches. */
const PAUSE_MS = 250;
const MAX_CHARACTERS = 200;

function SearchForm({ q }: { readonly q: string }): VNode {
  const [typed, setTyped] = useState(q);
  useEffect(() => setTyped(q), [q]);
  useEffect(() => {
    if (typed.trim() === q) return undefined;
    const timer = setTimeout(() => changeValues({ q: typed.trim() || null }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<form class="filter" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
    <label>Find an asset <input type="search" value=${typed} maxlength=${MAX_CHARACTERS} placeholder="part of a name, id or path"
      onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => setTyped(currentTarget.value)} /></label>
  </form>`;
}

function assetsFound({ rows, cut }: AssetsFound, env: string): VNode {
  if (rows.length === 0)
    return notice('neutral', 'No asset that you can see matches. Search by part of a name, id or path.');
  return dataTable({
    caption: cut ? `The best ${rows.length} matches` : countOf(rows.length, 'match', 'matches'),
    columns: [
      { label: 'Asset', kind: 'name', cell: (row) => assetLink(row, env) },
      {
        label: 'Path',
        kind: 'text',
        cell: ({ path }) => html`<span class="clamp" title=${path}>${path ?? '–'}</span>`,
      },
      { label: 'Platform', cell: ({ platform }) => platform ?? '–' },
    ],
    rows,
    keyOf: (row) => row.id,
  });
}

function assetSections(detail: AssetDetail, { environment, values }: ViewFrame): VNode {
  const { asset } = detail;
  return html`<article key=${asset.id} aria-labelledby="asset-name">
    <h2 id="asset-name" class="long asset-name">${asset.name ?? asset.id} ${asset.kind !== null && html`<span class="kind">${asset.kind}</span>`}</h2>
    ${assetFacts(detail)}
    <h3>Lineage</h3>
    ${component(LoadedLineage, { env: environment.env_id, centre: asset.id, values })}
    ${assetTests(detail)}
  </article>`;
}

/** Loads its module on demand. */
function LoadedLineage(options: LineageOptions): VNode {
  const [module, setModule] = useState<typeof import('../lineage/lineage.ts') | null>(null);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    import('../lineage/lineage.ts').then(setModule, () => setLost(true));
  }, []);
  if (module !== null) return component(module.Lineage, options);
  return html`<p class="faint">${isLost ? 'Part of the page failed to load. Reload the page.' : 'Loading …'}</p>`;
}
