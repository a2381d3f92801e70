import type { VNode } from 'preact';
import { formatCount } from '../format.ts';
import { html } from '../html.ts';
import type { TermName } from '../term-places.ts';
import { term } from './term.ts';

/** A number is shown as a count. */
type CellContent = VNode | string | number | null;

export interface DataColumn<R> {
  /** The column heading; narrow screens show it next to each value. */
  readonly label: string;
  readonly term?: TermName;
  readonly cell: (row: R) => CellContent;
  /** `name`: the row header. `number`: right-aligned. `text`: takes the remaining width. */
  readonly kind?: 'name' | 'number' | 'text';
}

export interface DataTable<R> {
  readonly caption: string;
  readonly columns: readonly DataColumn<R>[];
  readonly rows: readonly R[];
  readonly keyOf: (row: R) => string;
  readonly detailOf?: (row: R) => VNode | null;
}

/** A table that becomes a list of cards on narrow screens. Explicit roles keep it a table for screen readers. */
export function dataTable<R>({ caption, columns, rows, keyOf, detailOf }: DataTable<R>): VNode {
  return html`<table class="data" role="table">
    <caption>${caption}</caption>
    <thead role="rowgroup">
      <tr role="row">
        ${columns.map(({ label, term: name, kind = 'plain' }) => html`<th key=${label} scope="col" role="columnheader" class=${kind}>${name === undefined ? label : term(name, label)}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.flatMap((row) => [dataRow(row, columns, keyOf(row)), detailRow(detailOf?.(row) ?? null, columns.length, keyOf(row))])}
    </tbody>
  </table>`;
}

function dataRow<R>(row: R, columns: readonly DataColumn<R>[], key: string): VNode {
  return html`<tr role="row" key=${key}>
    ${columns.map(({ label, cell, kind = 'plain' }) =>
      kind === 'name'
        ? html`<th key=${label} scope="row" role="rowheader" class="name">${cell(row)}</th>`
        : html`<td key=${label} role="cell" class=${kind} data-label=${label}>${clamped(cell(row))}</td>`,
    )}
  </tr>`;
}

/** Texts from the service may be of any length. */
function clamped(content: CellContent): VNode | null {
  if (content === null || typeof content === 'object') return content;
  return html`<span class="clamp">${typeof content === 'number' ? formatCount(content) : content}</span>`;
}

function detailRow(detail: VNode | null, width: number, key: string): VNode | null {
  if (detail === null) return null;
  return html`<tr role="row" class="detail" key="${key} detail"><td role="cell" colspan=${width}>${detail}</td></tr>`;
}
