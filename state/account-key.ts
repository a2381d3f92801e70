import { hash } from 'node:crypto';

/**
 * The name of an account where its quota is stored (R23). The token cannot be computed from it, but whoever has the key
 * can test a list of tokens against it, so a token must not be guessable (R25).
 */
export function accountKey({ baseUrl, token }: { readonly baseUrl: string; readonly token: string }): string {
  return hash('sha256', JSON.stringify([baseUrl, token]));
}
