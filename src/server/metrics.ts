import { gzipSync } from 'node:zlib';
import { Counter, Gauge, Registry } from '@prometheus-io/client';
import type { FastifyInstance } from 'fastify';
import metricsPlugin from 'fastify-metrics';
import { type Principal, rootToken } from './access.ts';
import type { EndpointAnswers } from './answers.ts';
import { httpErrorFrom, permissionDenied } from './errors.ts';
import { acceptsGzip } from './etag.ts';
import type { MirrorReads } from './mirror-reads.ts';
import { COUNT_ROWS } from './row-counts.ts';
import { REFUSAL_STATUSES, type RefusalContext } from './send-error.ts';
import { environmentAges, syncAgeSeconds } from './sync-age.ts';

interface MetricsSources {
  readonly store: MirrorReads;
  readonly answers: EndpointAnswers;
  readonly nowMs: () => number;
}

interface ServerMetrics extends Pick<RefusalContext, 'refused'> {
  /** Adds `/metrics` to the routes that need a token. */
  addMetrics(server: FastifyInstance): void;
}

/** Measures all routes added later, and requests for unknown routes. */
export async function openMetrics(server: FastifyInstance, sources: MetricsSources): Promise<ServerMetrics> {
  const registry = new Registry();
  const registers = [registry];
  await server.register(metricsPlugin.default, {
    endpoint: null,
    defaultMetrics: { enabled: false },
    routeMetrics: {
      enabled: { histogram: true, summary: false },
      registeredRoutesOnly: false,
      methodBlacklist: [],
      // Labels never contain the address: any client could create any number of series.
      invalidRouteGroup: 'unknown',
      // The plugin also creates the summary that is not enabled.
      overrides: { histogram: { registers }, summary: { registers: [] } },
    },
  });
  addMirrorGauges(sources, registers);
  return {
    refused: countRefusals(registers),
    addMetrics: (api) =>
      void api.get('/metrics', { schema: { hide: true } }, async ({ reader, headers }, reply) => {
        if (!seesEverywhere(reader))
          throw permissionDenied('Metrics cover all environments and assets: use an unrestricted token');
        const text = await registry.metrics();
        reply.type(registry.contentType).header('vary', 'accept-encoding, authorization');
        if (!acceptsGzip(headers['accept-encoding'])) return reply.send(text);
        return reply.header('content-encoding', 'gzip').send(gzipSync(text));
      }),
  };
}

/** Such requests reach no route. */
function countRefusals(registers: Registry[]): RefusalContext['refused'] {
  const refusals = new Counter({
    name: 'obsync_unreadable_requests_total',
    help: 'Requests that could not be read, by the status of the refusal',
    labelNames: ['status_code'],
    registers,
  });
  for (const status of REFUSAL_STATUSES) refusals.inc({ status_code: status }, 0);
  return (status) => refusals.inc({ status_code: String(status) });
}

/** The counts cover all environments and assets. A token without scopes may read them and nothing else. */
function seesEverywhere(reader: Principal | null): boolean {
  return reader !== null && [reader.environments, reader.assetIds, reader.paths].every((limit) => limit === null);
}

/** The age of what was never mirrored. NaN would be less than any threshold of an alert. */
const NEVER = Number.POSITIVE_INFINITY;

function addMirrorGauges({ store, answers, nowMs }: MetricsSources, registers: Registry[]): void {
  const rowCounts = cacheCounts(store, answers);
  new Gauge({
    name: 'obsync_mirror_age_seconds',
    help: 'Seconds since the last sync that ended without problems; +Inf if there was none',
    registers,
    collect() {
      this.set(store.read((view) => syncAgeSeconds(view, nowMs())) ?? NEVER);
    },
  });
  new Gauge({
    name: 'obsync_environment_age_seconds',
    help: 'Seconds since the time up to which the stalest stream of the environment is mirrored; +Inf if one never was',
    labelNames: ['environment'],
    registers,
    collect() {
      this.reset();
      for (const { environment, seconds } of store.read((view) => environmentAges(view, nowMs())))
        this.set({ environment }, seconds ?? NEVER);
    },
  });
  new Gauge({
    name: 'obsync_mirror_rows',
    help: 'Live rows of a stream, over all environments',
    labelNames: ['stream'],
    registers,
    async collect() {
      for (const [stream, rows] of Object.entries(await rowCounts())) this.set({ stream }, rows);
    },
  });
}

/** Recounts only after the mirror has changed: counting a million rows takes a while. */
function cacheCounts(reads: MirrorReads, answers: EndpointAnswers): () => Promise<Readonly<Record<string, number>>> {
  let at = '';
  let counts: Readonly<Record<string, number>> = {};
  return async () => {
    if (reads.read(({ now }) => now) === at) return counts;
    const answer = await answers.answer({ operationId: COUNT_ROWS, reader: NOBODY, params: {}, query: {} }, UNABORTED);
    if ('refusal' in answer) throw httpErrorFrom(answer.refusal);
    at = answer.now;
    counts = JSON.parse(answer.body.toString());
    return counts;
  };
}

/** The reader of the server's own requests. */
const { reader: NOBODY } = rootToken('/metrics', '');
const UNABORTED = new AbortController().signal;
