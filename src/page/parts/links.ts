import type { VNode } from 'preact';
import type { AssetLabel } from '../../page-data/page-data.ts';
import { html } from '../html.ts';
import { formatRoute } from '../route.ts';

const MAX_BREAKS = 40;

/** An identifier that may wrap after each of its parts. */
export function breakable(name: string): readonly (VNode | string)[] {
  const parts = name.split(/(?<=[_./])/);
  if (parts.length > MAX_BREAKS) return [name];
  return parts.flatMap((part, i) => (i === 0 ? [part] : [html`<wbr />`, part]));
}

/** A link to an asset's own view. An asset without a name is not, or no longer, in the mirror. */
export function assetLink({ id, name, kind }: AssetLabel, env: string): VNode {
  if (name === null)
    return html`<span class="clamp" title=${id}>${id} <span class="faint">(not in the mirror)</span></span>`;
  return html`<span class="clamp">
    <a href=${formatRoute({ view: 'asset', env, values: { id } })} title=${name}>${breakable(name)}</a>
    ${kind !== null && kind !== 'table' && html` <span class="kind">${kind}</span>`}
  </span>`;
}

export function nameList(names: readonly string[]): VNode {
  if (names.length === 0) return html`<span class="faint">none</span>`;
  return html`<span class="clamp" title=${names.join(', ')}>${names.join(', ')}</span>`;
}
