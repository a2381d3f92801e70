import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SyncError } from '../core/errors.ts';
import { readNumber } from '../settings/option-error.ts';
import { OPTIONS } from '../settings/option-table.ts';
import type { OptionsNamed } from '../settings/options.ts';
import type { WorkerMetrics } from '../workers/worker-metrics.ts';

/** Where metrics are served. */
export interface MetricsEndpoint {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves metrics at `/metrics` if a port is given.
 * @throws SyncError `usage` if it cannot listen there
 */
export async function serveMetrics(
  { metricsPort, metricsHost = OPTIONS.metricsHost.default }: OptionsNamed<'metricsPort' | 'metricsHost'>,
  metrics: WorkerMetrics,
): Promise<MetricsEndpoint | null> {
  if (metricsPort === undefined) return null;
  const port = readNumber('metricsPort', metricsPort);
  const server = createServer(async ({ url, method = '' }, response) => {
    if (url?.split('?', 1)[0] !== '/metrics') return void response.writeHead(404).end();
    if (!['GET', 'HEAD'].includes(method)) return void response.writeHead(405, { allow: 'GET, HEAD' }).end();
    try {
      const text = await metrics.text();
      response.writeHead(200, { 'content-type': metrics.contentType }).end(text);
    } catch {
      // The log explains what is wrong with the database.
      response.writeHead(503).end();
    }
  });
  server.listen(port, metricsHost);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new SyncError('usage', `metrics cannot be served on ${metricsHost} port ${port}: choose others`, { cause });
  }
  const { address, port: bound, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}/metrics`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
