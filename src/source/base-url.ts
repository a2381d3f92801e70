import { SyncError } from '../core/errors.ts';

const API_PATH = '/public/beta';

export interface BaseUrlRules {
  /** Send the token over plain http to other machines, too. */
  readonly allowHttp: boolean;
}

/**
 * The address before `/public/beta`, as it is compared and stored: without that path, without a trailing slash.
 * Plain http goes to a loopback address only, unless allowed (R25). Throws `SyncError` `usage`; the text is not quoted,
 * because it may hold a password.
 */
export function parseBaseUrl(text: string, { allowHttp }: BaseUrlRules): string {
  const url = parse(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse('must begin with https:// or http://');
  if (url.username !== '' || url.password !== '') throw refuse('must hold no user name or password');
  if (url.search !== '' || url.hash !== '') throw refuse('must hold no query and no fragment (? or #)');
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    throw refuse('is plain http, which would show the token on the network: use https, or --allow-http if you must');
  }
  return url.origin + withoutApiPath(url.pathname);
}

/** Whether a host, as `URL` spells it, is this machine. A name other than `localhost` could resolve to anywhere. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

function parse(text: string): URL {
  try {
    return new URL(text.trim());
  } catch {
    throw refuse('is no URL: give one like https://api.example.com');
  }
}

function withoutApiPath(path: string): string {
  const bare = withoutSlashes(path);
  return bare.endsWith(API_PATH) ? withoutSlashes(bare.slice(0, -API_PATH.length)) : bare;
}

function withoutSlashes(path: string): string {
  return path.replace(/\/+$/, '');
}

function refuse(reason: string): SyncError {
  return new SyncError('usage', `The base URL ${reason}.`);
}
