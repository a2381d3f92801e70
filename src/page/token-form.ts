import type { VNode } from 'preact';
import { html } from './html.ts';
import { notice } from './parts/notice.ts';
import { decideOffer, offeredToken, takeToken, token } from './token.ts';

function submit(event: SubmitEvent): void {
  event.preventDefault();
  const text = String(new FormData(event.currentTarget as HTMLFormElement).get('token') ?? '').trim();
  if (text !== '') takeToken(text);
}

/** Asks for a token, which the page keeps as long as the tab is open. */
export function tokenForm(): VNode {
  return html`<form class="token" onSubmit=${submit}>
    <p id="token-why">${token.value === null ? 'The mirror shows itself to those who have a token.' : 'The server does not know this token.'}
      It is what clients of the API send, such as <code>OBSYNC_SERVE_TOKEN</code>.</p>
    <label>Token <input name="token" type="password" autocomplete="off" required aria-describedby="token-why" /></label>
    <button type="submit">Show the mirror</button>
    <p class="faint">The page keeps it until the tab is closed.</p>
  </form>`;
}

/** Asks whether the token of a link may replace the one of the tab; null if no link has brought one. */
export function tokenOffer(): VNode | null {
  if (offeredToken.value === null) return null;
  return html`<div class="offer" role="alert">
    ${notice('warn', 'The link that you opened brings another token. It may show less than yours, or more.')}
    <button type="button" onClick=${() => decideOffer(false)}>Keep my token</button>
    <button type="button" onClick=${() => decideOffer(true)}>Use the token of the link</button>
  </div>`;
}
