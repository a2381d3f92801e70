import type { VNode } from 'preact';
import type { AssetLabel } from '../../page-data/page-data.ts';
import { html } from '../html.ts';
import { formatRoute } from '../route.ts';

/** The most places of a name where a line may end. */
const MOST_BREAKS = 40;

/** A name of code, whose lines end after its parts. */
export function breakable(name: string): readonly (VNode | string)[] {
  const parts = name.split(/(?<=[_./])/);
  if (parts.length > MOST_BREAKS) return [name];
  return parts.flatMap((part, i) => (i === 0 ? [part] : [html`<wbr />`, part]));
}

/** An asset by its name, as the way to its own view. Without a name the mirror has no live asset of this id. */
export function assetLink({ id, name, kind }: AssetLabel, env: string): VNode {
  if (name === null)
    return html`<span class="clamp" title=${id}>${id} <span class="faint">(not in the mirror)</span></span>`;
  return html`<span class="clamp">
    <a href=${formatRoute({ view: 'asset', env, values: { id } })} title=${name}>${breakable(name)}</a>
    ${kind !== null && kind !== 'table' && html` <span class="kind">${kind}</span>`}
  </span>`;
}

/** Several short texts, such as owners. */
export function nameList(names: readonly string[], none: string): VNode {
  if (names.length === 0) return html`<span class="faint">${none}</span>`;
  return html`<span class="clamp" title=${names.join(', ')}>${names.join(', ')}</span>`;
}
