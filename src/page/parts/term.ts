import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { html } from '../html.ts';
import type { TermName } from '../term-places.ts';

/** The build inserts the dictionary's sentences here. */
declare const TERM_TEXTS: Readonly<Record<TermName, string>>;

/** A term of the dictionary, explained on hover, on focus and to screen readers. */
export const term = (name: TermName, label: string): VNode =>
  html`<button type="button" class="term" data-term=${name} aria-describedby="term-${name}">${label}</button>`;

type ShownTip = ReturnType<typeof tipOf>;

const TIP_WIDTH_PX = 288;
const GAP_PX = 6;

/** The explanations of all terms, and the visible tooltip. It is positioned above everything, so no table clips it. */
export function TermTips(): VNode {
  const [tip, setTip] = useState<ShownTip | null>(null);
  useEffect(() => followTerms(setTip), []);
  return html`<div>
    <div hidden>${Object.entries(TERM_TEXTS).map(([name, text]) => html`<span id="term-${name}" key=${name}>${text}</span>`)}</div>
    ${tip !== null && html`<div class="tip" aria-hidden="true" style=${{ left: `${tip.left}px`, top: `${tip.top}px` }}>${tip.text}</div>`}
  </div>`;
}

function followTerms(setTip: (tip: ShownTip | null) => void): () => void {
  const show = ({ target }: Event): void => {
    const term = target instanceof Element ? target.closest<HTMLElement>('[data-term]') : null;
    setTip(term === null ? null : tipOf(term));
  };
  const hide = (event: Event): void => {
    if (!(event instanceof KeyboardEvent) || event.key === 'Escape') setTip(null);
  };
  const unmounted = new AbortController();
  const options = { capture: true, signal: unmounted.signal };
  for (const name of ['pointerover', 'focusin']) document.addEventListener(name, show, options);
  for (const name of ['focusout', 'scroll', 'keydown']) document.addEventListener(name, hide, options);
  return () => unmounted.abort();
}

function tipOf(element: HTMLElement) {
  const { left, bottom } = element.getBoundingClientRect();
  const most = document.documentElement.clientWidth - TIP_WIDTH_PX - GAP_PX;
  const text = TERM_TEXTS[element.dataset['term'] as TermName] ?? '';
  return { text, left: Math.max(GAP_PX, Math.min(left, most)), top: bottom + GAP_PX };
}
