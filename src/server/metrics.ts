import { gzipSync } from 'node:zlib';
import { Counter, Registry } from '@prometheus-io/client';
import type { FastifyInstance } from 'fastify';
import metricsPlugin from 'fastify-metrics';
import { cacheMeasurements, type MeasuredMirror } from '../metrics/cache-measurements.ts';
import { addMirrorMetrics } from '../metrics/mirror-metrics.ts';
import { type Principal, rootToken } from './access.ts';
import { type EndpointAnswers, MEASURE } from './answers.ts';
import { httpErrorFrom, permissionDenied } from './errors.ts';
import { acceptsGzip } from './etag.ts';
import { type MirrorReads, readSnapshotRows } from './mirror-reads.ts';
import { REFUSAL_STATUSES, type RefusalContext } from './send-error.ts';

interface MetricsSources {
  readonly store: MirrorReads;
  readonly answers: EndpointAnswers;
  readonly nowMs: () => number;
}

/** Measures all routes added later, and requests for unknown routes. */
export async function openMetrics(server: FastifyInstance, sources: MetricsSources) {
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
  const setMirrorMetrics = addMirrorMetrics(registers);
  const measurements = cacheMeasurements(measuredMirror(sources));
  return {
    refused: countRefusals(registers),
    /** Adds `/metrics` to the routes that need a token. */
    addMetrics: (api: FastifyInstance) =>
      void api.get('/metrics', { schema: { hide: true } }, async ({ reader, headers }, reply) => {
        if (!seesEverywhere(reader))
          throw permissionDenied('Metrics cover all environments and assets: use an unrestricted token');
        setMirrorMetrics(await measurements(), sources.nowMs());
        sources.store.refuseReplaced();
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

/** The measurements are read in the threads, as requests are. */
function measuredMirror({ store, answers }: MetricsSources): MeasuredMirror {
  return {
    read: async (statements) => store.read((view) => readSnapshotRows(view, statements)),
    async measure() {
      const answer = await answers.answer({ operationId: MEASURE, reader: NOBODY, params: {}, query: {} }, UNABORTED);
      if ('refusal' in answer) throw httpErrorFrom(answer.refusal);
      return JSON.parse(answer.body.toString());
    },
  };
}

/** The reader of the server's own requests. */
const { reader: NOBODY } = rootToken('/metrics', '');
const UNABORTED = new AbortController().signal;
