import type { VNode } from 'preact';
import { html } from './html.ts';
import { notice } from './parts/notice.ts';
import { adoptToken, answerOffer, offeredToken, token } from './token.ts';

function submit(event: SubmitEvent): void {
  event.preventDefault();
  const text = String(new FormData(event.currentTarget as HTMLFormElement).get('token') ?? '').trim();
  if (text !== '') adoptToken(text);
}

/** Prompts for a token, which the page keeps until the tab is closed. */
export function tokenForm(): VNode {
  return html`<form class="token" onSubmit=${submit}>
    <p id="token-why">${token.value === null ? 'You need a token to see this mirror.' : 'The server does not know this token.'}
      Enter the one that API clients send, such as the value of <code>OBSYNC_SERVE_TOKEN</code>.</p>
    <label>Token <input name="token" type="password" autocomplete="off" required aria-describedby="token-why" /></label>
    <button type="submit">Show the mirror</button>
    <p class="faint">The page keeps it until the tab is closed.</p>
  </form>`;
}

/** Prompts whether the link's token may replace the tab's; null if no link offered one. */
export function tokenOffer(): VNode | null {
  if (offeredToken.value === null) return null;
  return html`<div class="offer" role="alert">
    ${notice('warn', 'The link that you opened contains another token. It may show more or less than yours.')}
    <button type="button" onClick=${() => answerOffer(false)}>Keep my token</button>
    <button type="button" onClick=${() => answerOffer(true)}>Use the link’s token</button>
  </div>`;
}
