import type { VNode } from 'preact';
import type { AssetDetail, AssetTest } from '../../page-data/page-data.ts';
import { countOf, formatCount, formatFraction } from '../format.ts';
import { html } from '../html.ts';
import { type DataColumn, dataTable } from '../parts/data-table.ts';
import { breakable, nameList } from '../parts/links.ts';
import { statusLabel } from '../parts/status.ts';
import { term } from '../parts/term.ts';
import { age } from '../parts/time.ts';

export function assetFacts(detail: AssetDetail): VNode {
  const { path, platform, description, owners, tags, updated_at, column_count, scores } = detail;
  const facts: readonly (readonly [string, VNode | string | null])[] = [
    ['Path', path === null ? null : html`<span class="clamp" title=${path}>${path}</span>`],
    ['Platform', platform],
    ['Owners', nameList(owners, 'none')],
    ['Tags', tags.length === 0 ? null : nameList(tags, 'none')],
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

/** The asset's tests, failing ones first. */
export function assetTests({ tests, test_count }: AssetDetail): VNode {
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
