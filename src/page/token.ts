import { batch, signal } from '@preact/signals';

const KEPT_AS = 'obsync-token';

/** The token that goes with every question. It is kept as long as the tab is open. */
export const token = signal<string | null>(sessionStorage.getItem(KEPT_AS));

/** Whether the server has refused the token, or asks for one. */
export const isTokenRefused = signal(false);

export function takeToken(text: string): void {
  sessionStorage.setItem(KEPT_AS, text);
  batch(() => {
    isTokenRefused.value = false;
    token.value = text;
  });
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEPT_AS);
  token.value = null;
}

/** An address may bring a token, `#token=…`. It is taken over, and removed from the address bar and the history. */
export function takeTokenFromAddress(): void {
  const { hash, pathname, search } = window.location;
  if (!hash.startsWith('#token=')) return;
  const text = decodeToken(hash.slice('#token='.length));
  window.history.replaceState(null, '', `${pathname}${search}`);
  if (text !== '') takeToken(text);
}

function decodeToken(text: string): string {
  try {
    return decodeURIComponent(text).trim();
  } catch {
    return text;
  }
}
