import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { usageError } from '../core/errors.ts';
import { DURATION_FORM, durationSeconds } from '../core/time/duration.ts';
import { readNumber } from '../settings/option-error.ts';
import { OPTIONS } from '../settings/option-table.ts';
import type { OptionsNamed } from '../settings/options.ts';

/** What is served at `/metrics` and, if there is `health`, at `/healthz`. */
export interface ServedMetrics {
  readonly contentType: string;
  text(): Promise<string>;
  /** `maxSeconds` is the age from which on the answer is `stale`; null for none. */
  health?(maxSeconds: number | null): Promise<{ readonly status: 'up' | 'stale' }>;
}

const UNREADABLE =
  'the database cannot be read: run obsync status (workers: obsync accounts list) on this host to see why\n';

/** Serves metrics if a port is given. @throws SyncError `usage` if it cannot listen there */
export async function serveMetrics(
  { metricsPort, metricsHost = OPTIONS.metricsHost.default }: OptionsNamed<'metricsPort' | 'metricsHost'>,
  metrics: ServedMetrics,
) {
  if (metricsPort === undefined) return null;
  const port = readNumber('metricsPort', metricsPort);
  const server = createServer(async ({ url = '', method = '' }, response) => {
    const [path, query] = url.split('?', 2);
    const health = path === '/healthz' ? metrics.health : undefined;
    if (path !== '/metrics' && health === undefined) return void response.writeHead(404).end();
    if (!['GET', 'HEAD'].includes(method)) return void response.writeHead(405, { allow: 'GET, HEAD' }).end();
    try {
      const { status, type, text } = health
        ? await answerHealth(health, new URLSearchParams(query).get('max_age'))
        : { status: 200, type: metrics.contentType, text: await metrics.text() };
      response.writeHead(status, { 'content-type': type }).end(text);
    } catch {
      // Whoever may scrape need not learn where the database is.
      response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' }).end(UNREADABLE);
    }
  });
  server.listen(port, metricsHost);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const what = `cannot serve metrics on ${metricsHost} port ${port} (${(cause as { code?: string }).code})`;
    throw usageError(`${what}: choose others with --metrics-host and --metrics-port`, { cause });
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

/** As `serve` answers it. */
async function answerHealth(health: Required<ServedMetrics>['health'], maxAge: string | null) {
  const json = (status: number, body: object) => ({ status, type: 'application/json', text: JSON.stringify(body) });
  const seconds = maxAge === null ? null : durationSeconds(maxAge);
  if (maxAge !== null && seconds === null)
    return json(422, { error: { code: 'invalid_request', message: `max_age must be ${DURATION_FORM}` } });
  const answer = await health(seconds);
  return json(answer.status === 'stale' ? 503 : 200, answer);
}
