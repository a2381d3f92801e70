import type { VNode } from 'preact';
import type { UntestedTable, UntestedTables } from '../../page-data/page-data.ts';
import { countOf, formatCount, formatFraction } from '../format.ts';
import { html } from '../html.ts';
import { changeValues } from '../navigation.ts';
import { type DataColumn, dataTable } from '../parts/data-table.ts';
import { assetLink, nameList } from '../parts/links.ts';
import { liveView } from '../parts/live-view.ts';
import { notice } from '../parts/notice.ts';
import { firstRow, PAGE_ROWS, pager } from '../parts/pager.ts';
import { levelIcon } from '../parts/status.ts';
import type { ViewFrame } from '../view-frame.ts';

export function untestedView({ environment, values }: ViewFrame): VNode {
  const from = firstRow(values);
  const showsAll = values['all'] === 'true';
  const parameters = { limit: String(PAGE_ROWS), offset: String(from), ...(showsAll ? { all: 'true' } : {}) };
  return liveView({ name: 'untested', env: environment.env_id, parameters }, (untested) => {
    const { rows, total } = untested;
    return html`<div>
      ${answer(untested)}
      <div class="controls">
        <label><input type="checkbox" checked=${showsAll}
          onChange=${({ currentTarget }: { currentTarget: HTMLInputElement }) => changeValues({ all: currentTarget.checked ? 'true' : null, from: null })} /> Show tables with tests too</label>
      </div>
      ${dataTable({
        caption: showsAll
          ? 'Tables, most downstream assets first'
          : 'Tables without a test, most downstream assets first',
        columns: columnsFor(environment.env_id),
        rows,
        keyOf: ({ asset }) => asset.id,
      })}
      ${pager(from, rows.length, total)}
    </div>`;
  });
}

function answer({ table_count, tested_table_count, column_count, tested_column_count }: UntestedTables): VNode {
  const missing = table_count - tested_table_count;
  if (table_count === 0) return notice('neutral', 'Your token sees no tables.');
  const columns = `${formatCount(tested_column_count)} of ${countOf(column_count, 'column')} ${tested_column_count === 1 ? 'has' : 'have'} a test.`;
  if (missing === 0) return notice('good', `Every table has a test. ${columns}`);
  const part = formatFraction(tested_table_count / table_count);
  return notice(
    'warn',
    `${formatCount(missing)} of ${countOf(table_count, 'table')} ${missing === 1 ? 'has' : 'have'} no test (coverage ${part}). ${columns}`,
  );
}

const columnsFor = (env: string): readonly DataColumn<UntestedTable>[] => [
  { label: 'Table', kind: 'name', cell: ({ asset }) => assetLink(asset, env) },
  { label: 'Place', kind: 'text', cell: placeCell },
  { label: 'Owners', kind: 'text', cell: ({ owners }) => nameList(owners) },
  { label: 'Downstream', term: 'downstream', kind: 'number', cell: downstreamCell },
  { label: 'Downstream BI', term: 'downstreamBi', kind: 'number', cell: (table) => table.downstream_bi_count },
  { label: 'Tests', term: 'testCount', kind: 'number', cell: testsCell },
  { label: 'Tested columns', term: 'testedColumns', kind: 'number', cell: testedColumnsCell },
];

const placeCell = ({ db_name, schema_name }: UntestedTable): string =>
  [db_name, schema_name].filter((each) => each !== null).join('.') || '–';

const downstreamCell = ({ downstream_count, downstream_cut }: UntestedTable): string =>
  `${downstream_cut ? 'over ' : ''}${formatCount(downstream_count)}`;

const testsCell = ({ test_count }: UntestedTable): VNode | number =>
  test_count > 0 ? test_count : html`<span class="warn">${levelIcon('warn')} none</span>`;

const testedColumnsCell = ({ tested_column_count, column_count }: UntestedTable): string =>
  `${formatCount(tested_column_count)} of ${formatCount(column_count)}`;
