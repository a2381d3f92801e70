import type { VNode } from 'preact';
import { DEFAULT_PARAMETERS } from '../../page-data/default-parameters.ts';
import { formatCount } from '../format.ts';
import { html } from '../html.ts';
import { changeValues } from '../navigation.ts';

export const PAGE_ROWS = DEFAULT_PARAMETERS.limit;

/** Which rows are shown, with buttons for the others; null if all rows are shown. */
export function pager(from: number, shown: number, total: number): VNode | null {
  if (total <= PAGE_ROWS && from === 0) return null;
  const go = (to: number): void => changeValues({ from: to <= 0 ? null : String(to) }, { isStep: true });
  return html`<nav class="pager" aria-label="Rows">
    <button type="button" disabled=${from === 0} onClick=${() => go(from - PAGE_ROWS)}>Previous</button>
    <span>${shown === 0 ? 'none' : `${formatCount(from + 1)} to ${formatCount(from + shown)}`} of ${formatCount(total)}</span>
    <button type="button" disabled=${from + shown >= total} onClick=${() => go(from + PAGE_ROWS)}>Next</button>
  </nav>`;
}

/** The index of the first row to show, from the address. */
export const firstRow = ({ from = '0' }: Readonly<Record<string, string>>): number =>
  Math.max(0, Math.floor(Number(from)) || 0);
