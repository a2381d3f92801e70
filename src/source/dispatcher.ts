import { getCACertificates } from 'node:tls';
import type { EnvHttpProxyAgent as Agent } from 'undici';
import connect from 'undici/lib/api/api-connect.js';
import request from 'undici/lib/api/api-request.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import { default as EnvHttpProxyAgent } from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { NO_PROXIES, type ProxySettings } from './proxies.ts';

// Does the same as the package's main module, whose import costs 80 ms and 13 MiB at every start because it also loads
// fetch, caches, mocks and WebSocket.
Object.assign(Dispatcher.prototype, { request, connect });

export interface NetworkOptions {
  /** None by default. */
  readonly proxies?: ProxySettings;
  /** Certificates in PEM that are trusted as well as Node's own and those of `NODE_EXTRA_CA_CERTS`. */
  readonly ca?: string | null;
  /** The most connections at the same time. */
  readonly concurrency: number;
  readonly timeoutMs: number;
}

/**
 * Our own timer limits the whole request. HTTP/2 is off, because it repeats requests that we would not count (R23).
 *
 * `signal` also ends connections that are still being made: undici notices that a request was aborted only once it has
 * a connection, and leaves such sockets open when it is destroyed (R27).
 */
export function openDispatcher(
  { proxies = NO_PROXIES, ca = null, concurrency, timeoutMs }: NetworkOptions,
  signal: AbortSignal,
): Agent {
  const trust = ca === null ? {} : { ca: [...getCACertificates('default'), ca] };
  const sockets = { ...trust, signal };
  return new EnvHttpProxyAgent({
    ...proxies,
    // To the service, directly and through a proxy, and to the proxy itself.
    connect: sockets,
    requestTls: sockets,
    proxyTls: sockets,
    connections: concurrency,
    allowH2: false,
    connectTimeout: timeoutMs,
    // Without it, undici waits five minutes for a proxy that does not answer CONNECT.
    clientFactory: (proxy: URL, options: object) =>
      new Pool(proxy, { ...options, headersTimeout: Math.ceil(timeoutMs) }),
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
