import type { VNode } from 'preact';
import { html } from './html.ts';
import { takeToken, token } from './token.ts';

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
