import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AssetDetail, AssetsFound, AssetTest } from '../../page-data/page-data.ts';
import { countOf, formatCount, formatFraction } from '../format.ts';
import { component, html } from '../html.ts';
import type { LineageOptions } from '../lineage/lineage.ts';
import { changeValues } from '../navigation.ts';
import { type DataColumn, dataTable } from '../parts/data-table.ts';
import { assetLink, breakable, nameList } from '../parts/links.ts';
import { liveView } from '../parts/live-view.ts';
import { notice } from '../parts/notice.ts';
import { statusLabel } from '../parts/status.ts';
import { term } from '../parts/term.ts';
import { age } from '../parts/time.ts';
import type { ViewFrame } from '../view-frame.ts';

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

function SearchForm({ q }: { readonly q: string }): VNode {
  const [typed, setTyped] = useState(q);
  useEffect(() => setTyped(q), [q]);
  useEffect(() => {
    if (typed.trim() === q) return undefined;
    const timer = setTimeout(() => changeValues({ q: typed.trim() || null }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<form class="filter" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
    <label>Find an asset <input type="search" value=${typed} maxlength="200" placeholder="part of a name, id or path"
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

function assetFacts(detail: AssetDetail): VNode {
  const { path, platform, description, owners, tags, updated_at, column_count, scores } = detail;
  const facts: readonly (readonly [string, VNode | string | null])[] = [
    ['Path', path === null ? null : html`<span class="clamp" title=${path}>${path}</span>`],
    ['Platform', platform],
    ['Owners', nameList(owners)],
    ['Tags', tags.length === 0 ? null : nameList(tags)],
    ['Columns', formatCount(column_count)],
    ['Updated', updated_at === null ? null : age(updated_at)],
    ['Address', addressOf(detail)],
  ];
  return html`<div>
    ${description !== null && html`<p class="long description">${description}</p>`}
    <dl class="facts">${facts.map(([name, value]) => value !== null && html`<div key=${name}><dt>${name}</dt><dd class="long">${value}</dd></div>`)}</dl>
    ${scores.length > 0 && html`<dl class="facts scores">${scores.map(({ dimension, score }) => scoreOf(dimension, score))}</dl>`}
  </div>`;
}

/** Only http and https addresses become links, and the text names the host: the source may store any text here. */
function addressOf({ url }: AssetDetail): VNode | string | null {
  if (url === null || !/^https?:\/\//i.test(url) || !URL.canParse(url)) return url;
  return html`<a href=${url} rel="noreferrer" title=${url}>open on ${new URL(url).host}</a>`;
}

function scoreOf(dimension: string, score: number | null): VNode {
  const name = dimension === 'total' ? term('health', 'Health') : dimension;
  return html`<div key=${dimension}><dt>${name}</dt>
    <dd>${score === null ? html`<span class="faint">no score</span>` : html`<span><meter min="0" max="1" value=${score} aria-hidden="true"></meter> ${formatFraction(score)}</span>`}</dd></div>`;
}

function assetTests({ tests, test_count }: AssetDetail): VNode {
  if (tests === null) return html`<p class="faint">Your token has no access to tests.</p>`;
  if (tests.length === 0) return html`<p class="status warn">This asset has no tests.</p>`;
  const all = test_count ?? tests.length;
  const caption =
    all > tests.length
      ? `${formatCount(tests.length)} of ${countOf(all, 'test')}, failing ones first`
      : `${countOf(all, 'test')}, failing ones first`;
  return html`<section aria-labelledby="tests-of-asset"><h3 id="tests-of-asset">Tests</h3>
    ${dataTable({ caption, columns: COLUMNS, rows: tests, keyOf: ({ test_id }) => test_id })}</section>`;
}

const COLUMNS: readonly DataColumn<AssetTest>[] = [
  {
    label: 'Test',
    kind: 'name',
    cell: ({ test_name }) => html`<span class="clamp" title=${test_name}>${breakable(test_name)}</span>`,
  },
  { label: 'Result', term: 'latestStatus', cell: (test) => statusLabel(test.status) },
  { label: 'Last run', cell: ({ start_time }) => age(start_time) },
  { label: 'Type', term: 'testType', cell: ({ test_type }) => test_type ?? '–' },
  { label: 'Column', kind: 'text', cell: ({ column_name }) => html`<span class="clamp">${column_name ?? '–'}</span>` },
  { label: 'Severity', term: 'severity', cell: ({ severity }) => severity ?? '–' },
];

function LoadedLineage(options: LineageOptions): VNode {
  const [module, setModule] = useState<typeof import('../lineage/lineage.ts') | null>(null);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    import('../lineage/lineage.ts').then(setModule, () => setLost(true));
  }, []);
  if (module !== null) return component(module.Lineage, options);
  return html`<p class="faint">${isLost ? 'Part of the page failed to load. Reload the page.' : 'Loading …'}</p>`;
}
