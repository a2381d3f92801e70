import { createHash } from 'node:crypto';

/**
 * What an account is called where its quota is kept (R23). The token cannot be computed from it; whoever has both the
 * key and a list of tokens can find out whether the right one is among them, so a token must not be one that can be
 * guessed (R25).
 */
export function accountKey({ baseUrl, token }: { readonly baseUrl: string; readonly token: string }): string {
  return createHash('sha256')
    .update(JSON.stringify([baseUrl, token]))
    .digest('hex');
}
