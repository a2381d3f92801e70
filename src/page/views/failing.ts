import type { VNode } from 'preact';
import type { FailingNow, FailingSubTest, OtherSubTests } from '../../page-data/page-data.ts';
import { countOf, formatCount } from '../format.ts';
import { html } from '../html.ts';
import { changeValues } from '../navigation.ts';
import { type DataColumn, dataTable } from '../parts/data-table.ts';
import { assetLink, breakable, nameList } from '../parts/links.ts';
import { liveView } from '../parts/live-view.ts';
import { notice } from '../parts/notice.ts';
import { firstRow, PAGE_ROWS, pager } from '../parts/pager.ts';
import { levelOf, type StatusLevel, statusLabel } from '../parts/status.ts';
import { age } from '../parts/time.ts';
import type { ViewFrame } from '../view-frame.ts';

export function failingView({ environment, values }: ViewFrame): VNode {
  const from = firstRow(values);
  const parameters = { limit: String(PAGE_ROWS), offset: String(from) };
  const env = environment.env_id;
  return liveView({ name: 'failing', env, parameters }, (failing) => failingNow(failing, env, values));
}

function failingNow(failing: FailingNow, env: string, values: ViewFrame['values']): VNode {
  const { total, rows } = failing;
  const wanted = (values['has'] ?? '').toLowerCase();
  const shown = rows.filter((row) => wanted === '' || textOf(row).includes(wanted));
  if (failing.others !== null) return nothingFails(failing.others);
  return html`<div>
    ${notice('bad', answerOf(failing, firstRow(values) === 0))}
    <label class="filter">Show rows that contain <input type="search" value=${values['has'] ?? ''} placeholder="a name, an owner, a status"
      onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => changeValues({ has: currentTarget.value || null })} /></label>
    ${dataTable({
      caption: captionOf(shown.length, rows.length),
      columns: columnsFor(env, values),
      rows: shown,
      keyOf,
      detailOf: (row) => (values['open'] === keyOf(row) ? detail(row) : null),
    })}
    ${pager(firstRow(values), rows.length, total)}
  </div>`;
}

function nothingFails({ passed, without_verdict: undecided }: OtherSubTests): VNode {
  if (passed + undecided === 0) return notice('neutral', 'No test fails: you can see no enabled test here.');
  if (passed === 0)
    return notice('neutral', `No test fails, but none has passed either: ${withoutVerdict(undecided)}.`);
  if (undecided > 0) return notice('good', `No test fails; ${withoutVerdict(undecided)}.`);
  return notice('good', 'No test fails: the latest result of every test that you can see is PASS.');
}

const withoutVerdict = (count: number): string =>
  count === 1
    ? '1 test has no verdict, because it was skipped, had no data or never ran'
    : `${formatCount(count)} tests have no verdict, because they were skipped, had no data or never ran`;

function answerOf({ total, rows }: FailingNow, isFirstPage: boolean): string {
  const what = total === 1 ? '1 test fails' : `${formatCount(total)} tests fail`;
  const [worst] = rows;
  if (worst === undefined || !isFirstPage) return `${what}.`;
  const hangs = worst.downstream_count === 0 ? '' : `, with ${downstreamOf(worst)} downstream`;
  return `${what}. The worst: ${worst.test_name.slice(0, 120)}${hangs}.`;
}

const downstreamOf = ({ downstream_count, downstream_cut }: FailingSubTest): string =>
  `${downstream_cut ? 'more than ' : ''}${countOf(downstream_count, 'asset')}`;

const captionOf = (shown: number, all: number): string =>
  shown === all ? 'Failing tests, worst first' : `Failing tests, worst first: ${shown} of the ${all} on this page`;

const keyOf = ({ test_id, sub_test_unique_id }: FailingSubTest): string => `${test_id} ${sub_test_unique_id}`;

function textOf({ asset, owners, ...row }: FailingSubTest): string {
  const texts = [row.test_name, row.column_name, row.status, row.severity, asset?.name, row.test_type, ...owners];
  return texts.join(' ').toLowerCase();
}

function columnsFor(env: string, values: Readonly<Record<string, string>>): readonly DataColumn<FailingSubTest>[] {
  return [
    { label: 'Test', kind: 'name', cell: (row) => testCell(row, values) },
    { label: 'Result', term: 'latestStatus', kind: 'text', cell: resultCell },
    { label: 'Since', term: 'since', cell: ({ since }) => age(since, 'unknown') },
    { label: 'Last runs', cell: ({ history }) => historyStrip(history) },
    { label: 'Asset', kind: 'text', cell: ({ asset }) => (asset === null ? '–' : assetLink(asset, env)) },
    { label: 'Owners', kind: 'text', cell: ({ owners }) => nameList(owners) },
    { label: 'Downstream', term: 'downstream', kind: 'number', cell: impactCell },
    { label: 'Probable cause', kind: 'text', cell: (row) => causeCell(row, env) },
  ];
}

function testCell(row: FailingSubTest, values: Readonly<Record<string, string>>): VNode {
  const key = keyOf(row);
  const isOpen = values['open'] === key;
  return html`<span>
    <button type="button" class="disclose" aria-expanded=${isOpen} onClick=${() => changeValues({ open: isOpen ? null : key })}>
      <span class="clamp" title=${row.test_name}>${breakable(row.test_name)}</span>
    </button>
    <span class="faint clamp">${[row.test_type, row.column_name, row.quality_dimension].filter((each) => each !== null).join(' · ')}</span>
  </span>`;
}

function resultCell({ status: result, failure_count, severity }: FailingSubTest): VNode {
  const more = [
    failure_count !== null && failure_count > 0 && countOf(failure_count, 'failure'),
    severity !== null && `severity ${severity}`,
  ].filter((each) => each !== false);
  return html`<span>${statusLabel(result)}<br /><span class="faint">${more.join(', ')}</span></span>`;
}

function impactCell({ downstream_count, downstream_bi_count, downstream_cut }: FailingSubTest): VNode {
  if (downstream_count === 0) return html`<span class="faint">nothing</span>`;
  return html`<span>${downstream_cut && 'over '}${formatCount(downstream_count)}
    ${downstream_bi_count > 0 && html`<span class="faint"> (${formatCount(downstream_bi_count)} BI)</span>`}</span>`;
}

function causeCell({ cause }: FailingSubTest, env: string): VNode | null {
  if (cause === null) return html`<span class="faint">none upstream</span>`;
  return html`<span>${assetLink(cause, env)} <span class="faint clamp">${countOf(cause.depth, 'level')} up: ${cause.test_name}</span></span>`;
}

function detail(row: FailingSubTest): VNode {
  const facts: readonly (readonly [string, string | null])[] = [
    ['Reason', row.result_reason],
    ['Error', row.exception],
    ['Sub-test', row.sub_test_unique_id],
    ['Test', row.test_id],
  ];
  return html`<dl class="facts">
    ${facts.map(([name, text]) => text !== null && html`<div key=${name}><dt>${name}</dt><dd class="long">${text}</dd></div>`)}
  </dl>`;
}

const STEP = 5;
const HEIGHT = 18;
/** A worse result is taller, so the strip can be read without its colours. */
const HEIGHTS: Readonly<Record<StatusLevel, number>> = { good: 4, neutral: 2, warn: 9, bad: 14, broken: 18 };

/** The last runs of a sub-test, newest on the right. */
function historyStrip(history: FailingSubTest['history']): VNode {
  const summary = summaryOf(history);
  const width = Math.max(1, history.length) * STEP;
  return html`<svg class="strip" viewBox="0 0 ${width} ${HEIGHT}" width=${width} height=${HEIGHT} role="img" aria-label=${summary}>
    <title>${summary}</title>
    ${history.map(({ start_time, status }, i) => {
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
