import { type SyncError, usageError } from '../core/errors.ts';
import { API_PATH } from '../core/read-api.ts';

/**
 * The base URL as it is compared and stored: without `/public/beta` or a trailing slash. Plain http is accepted only
 * for loopback addresses, unless allowed (R25). The error does not quote the URL, because it may contain a password.
 * @throws SyncError `usage`
 */
export function parseBaseUrl(text: string, { allowHttp }: { readonly allowHttp: boolean }): string {
  const url = URL.parse(text.trim());
  if (url === null) throw refuse('is not a URL: pass one like https://api.example.com');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse('must begin with https:// or http://');
  if (url.username !== '' || url.password !== '') throw refuse('must not contain a user name or a password');
  if (url.search !== '' || url.hash !== '') throw refuse('must not contain a query or a fragment (? or #)');
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    throw refuse('is plain http, which sends the token unencrypted: use https, or pass --allow-http');
  }
  return url.origin + withoutApiPath(url.pathname);
}

/** Whether a host, as `URL` spells it, is this machine. Names other than `localhost` may resolve to any machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

function withoutApiPath(path: string): string {
  const bare = withoutSlashes(path);
  return bare.endsWith(API_PATH) ? withoutSlashes(bare.slice(0, -API_PATH.length)) : bare;
}

function withoutSlashes(path: string): string {
  return path.replace(/\/+$/, '');
}

function refuse(reason: string): SyncError {
  return usageError(`The base URL ${reason}.`);
}
