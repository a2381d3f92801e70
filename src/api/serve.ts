import { lookup } from 'node:dns/promises';
import { type AddressInfo, isIPv6 } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { usageError } from '../core/errors.ts';
import { checkOptions } from '../settings/check-options.ts';
import { readNumber } from '../settings/option-error.ts';
import { OPTIONS } from '../settings/option-table.ts';
import type { OptionsNamed, StopOptions } from '../settings/options.ts';
import { isLoopback } from '../source/base-url.ts';
import type { ApiOptions } from './prepare-server.ts';

/** How long requests in progress may take when the server closes: R27 allows 5 seconds for the whole stop. */
const PATIENCE_MS = 3000;

/** `signal` closes the server. */
export interface ServeOptions extends ApiOptions, StopOptions, OptionsNamed<'host' | 'port'> {}

export interface RunningServer {
  readonly url: string;
  /** Reloads the token file. If it is invalid, the error is logged and the old tokens stay. */
  reloadTokens(): void;
  /** Closes the server. Responses in progress are finished first, up to a time limit. */
  close(): Promise<void>;
}

/** Serves the mirror as the read API of its source. @throws SyncError `usage` */
export async function serve(options: ServeOptions = {}): Promise<RunningServer> {
  checkOptions(options);
  return startServer(options);
}

/** Calls `beforeOpening` after it has checked the options, before it opens the mirror. @throws SyncError `usage` */
export async function startServer(options: ServeOptions, beforeOpening?: () => Promise<void>): Promise<RunningServer> {
  const host = options.host ?? OPTIONS.host.default;
  const port = readNumber('port', options.port);
  // Loaded only here: a program that only syncs needs no server.
  const { prepareServer } = await import('./prepare-server.ts');
  const prepared = await prepareServer(options, beforeOpening);
  try {
    const url = await listen(prepared.server, { host, port });
    options.logger?.info(`serving ${prepared.served}, process ${process.pid}`);
    const unencrypted = isLoopback(hostInUrl(host)) ? [] : [UNENCRYPTED];
    for (const warning of [...unencrypted, ...prepared.warnings()]) options.logger?.warn(warning);
    return { url, reloadTokens: prepared.reloadTokens, close: closing(prepared.server, options.signal) };
  } catch (error) {
    await prepared.server.close();
    throw error;
  }
}

const UNENCRYPTED = 'tokens are sent unencrypted: put a TLS proxy in front of the server';

/** A function that closes the server, once however often it is called. The signal calls it too. */
function closing(server: FastifyInstance, signal: AbortSignal | undefined): () => Promise<void> {
  let closed: Promise<void> | null = null;
  const close = (): Promise<void> => {
    signal?.removeEventListener('abort', close);
    closed ??= closePatiently(server);
    return closed;
  };
  signal?.addEventListener('abort', close, { once: true });
  if (signal?.aborted) void close();
  return close;
}

async function closePatiently(server: FastifyInstance): Promise<void> {
  const impatience = setTimeout(() => server.server.closeAllConnections(), PATIENCE_MS);
  await server.close();
  clearTimeout(impatience);
}

/** @returns the base URL. @throws SyncError `usage` when the server cannot listen on the address */
async function listen(server: FastifyInstance, { host, port }: { host: string; port: number }): Promise<string> {
  try {
    // For the name `localhost`, Fastify creates two servers and can stop only one of them in time.
    const { address } = await lookup(host);
    await server.listen({ host: address, port });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    const why = code === 'EADDRINUSE' ? 'it is already in use' : code;
    const what = `cannot listen on ${host}:${port} (${why})`;
    throw usageError(`${what}: choose another address with --host and --port`, { cause });
  }
  const bound = (server.server.address() as AddressInfo).port;
  return `http://${hostInUrl(host)}:${bound}`;
}

const hostInUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host);
