import type { VNode } from 'preact';
import type { AssetLabel } from '../../page-data/page-data.ts';
import { html } from '../html.ts';
import { formatRoute } from '../route.ts';

/** An asset by its name, as the way to its own view. Without a name the mirror has no live asset of this id. */
export function assetLink({ id, name, kind }: AssetLabel, env: string): VNode {
  if (name === null)
    return html`<span class="clamp" title=${id}>${id} <span class="faint">(not in the mirror)</span></span>`;
  return html`<span class="clamp">
    <a href=${formatRoute({ view: 'asset', env, values: { id } })} title=${name}>${name}</a>
    ${kind !== null && kind !== 'table' && html` <span class="kind">${kind}</span>`}
  </span>`;
}

/** Several short texts, such as owners. */
export function nameList(names: readonly string[], none: string): VNode {
  if (names.length === 0) return html`<span class="faint">${none}</span>`;
  return html`<span class="clamp" title=${names.join(', ')}>${names.join(', ')}</span>`;
}
