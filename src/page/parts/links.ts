import type { VNode } from 'preact';
import type { AssetLabel } from '../../page-data/page-data.ts';
import { html } from '../html.ts';

/** An asset by its name. Without a name the mirror has no live asset of this id. */
export function assetLink({ id, name, kind }: AssetLabel): VNode {
  if (name === null)
    return html`<span class="clamp" title=${id}>${id} <span class="faint">(not in the mirror)</span></span>`;
  return html`<span class="clamp">
    <span title=${name}>${name}</span>
    ${kind !== null && kind !== 'table' && html` <span class="kind">${kind}</span>`}
  </span>`;
}

/** Several short texts, such as owners. */
export function nameList(names: readonly string[], none: string): VNode {
  if (names.length === 0) return html`<span class="faint">${none}</span>`;
  return html`<span class="clamp" title=${names.join(', ')}>${names.join(', ')}</span>`;
}
