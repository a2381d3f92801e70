import { usageError } from '../core/errors.ts';
import { isLoopback } from './base-url.ts';

/** The proxies for http and https, and the hosts that are reached without one. An empty text means none. */
export interface ProxySettings {
  readonly httpProxy: string;
  readonly httpsProxy: string;
  readonly noProxy: string;
}

export const NO_PROXIES: ProxySettings = { httpProxy: '', httpsProxy: '', noProxy: '' };

/**
 * The proxies that the variables `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` name, as other programs read them: in small
 * letters first, and a proxy without a scheme is one over http. A service on this machine is not reached through
 * another machine, which would receive the token unencrypted (R25).
 * @throws SyncError `usage`, without the value, which may contain a password
 */
export function proxiesOf(baseUrl: string, env: Readonly<Record<string, string | undefined>>): ProxySettings {
  const read = (name: string): string => (env[name.toLowerCase()] ?? env[name] ?? '').trim();
  const isLocal = isLoopback(new URL(baseUrl).hostname);
  const proxy = (name: string): string => {
    const url = read(name) === '' ? null : parseProxy(name, read(name));
    return url === null || (isLocal && !isLoopback(url.hostname)) ? '' : url.href;
  };
  return { httpProxy: proxy('HTTP_PROXY'), httpsProxy: proxy('HTTPS_PROXY'), noProxy: read('NO_PROXY') };
}

/** The host and port of the proxy for an address, whether or not `noProxy` lists the address; null if there is none. */
export function proxyHostOf(baseUrl: string, { httpProxy, httpsProxy }: ProxySettings): string | null {
  const proxy = (baseUrl.startsWith('https:') && httpsProxy) || httpProxy;
  return proxy === '' ? null : new URL(proxy).host;
}

function parseProxy(name: string, given: string): URL {
  const url = URL.parse(given.includes('://') ? given : `http://${given}`);
  if (url !== null && ['http:', 'https:'].includes(url.protocol) && isEncoded(url.username + url.password)) return url;
  const text = `${name} must be the address of a proxy, like http://proxy.example.com:3128, with a % in a password as %25.`;
  throw usageError(text);
}

function isEncoded(text: string): boolean {
  try {
    return decodeURIComponent(text) !== '' || text === '';
  } catch {
    return false;
  }
}
