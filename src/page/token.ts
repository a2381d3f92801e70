import { batch, signal } from '@preact/signals';
import { decodePart } from './route.ts';

const STORAGE_KEY = 'obsync-token';

/** The token that every query sends. It is kept until the tab is closed. */
export const token = signal<string | null>(sessionStorage.getItem(STORAGE_KEY));

/** Whether the server rejected the token, or requires one. */
export const isTokenRefused = signal(false);

export function adoptToken(text: string): void {
  sessionStorage.setItem(STORAGE_KEY, text);
  batch(() => {
    isTokenRefused.value = false;
    token.value = text;
  });
}

export function forgetToken(): void {
  sessionStorage.removeItem(STORAGE_KEY);
  token.value = null;
}

/** A token from an address while the tab has another one; null if there is none. */
export const offeredToken = signal<string | null>(null);

export function answerOffer(isTaken: boolean): void {
  const { value: offered } = offeredToken;
  offeredToken.value = null;
  if (isTaken && offered !== null) adoptToken(offered);
}

/**
 * An address may contain a token, `#token=…`, which is removed from the address bar and the history. It is adopted, but
 * replaces another token only after confirmation: it may see less, and anyone may have made the link.
 */
export function adoptTokenFromAddress(): void {
  const { hash, pathname, search } = window.location;
  if (!hash.startsWith('#token=')) return;
  const encoded = hash.slice('#token='.length);
  const text = decodePart(encoded)?.trim() ?? encoded;
  window.history.replaceState(null, '', `${pathname}${search}`);
  if (text === '') return;
  if (token.value === null || token.value === text || isTokenRefused.value) adoptToken(text);
  else offeredToken.value = text;
}
