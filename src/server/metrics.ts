import { Gauge, Registry } from '@prometheus-io/client';
import { getTableColumns, getTableName } from 'drizzle-orm';
import type { FastifyInstance } from 'fastify';
import metricsPlugin from 'fastify-metrics';
import { CATALOGUE } from '../streams/catalogue.ts';
import type { Entry } from '../streams/entry.ts';
import type { Reader } from './access.ts';
import { permissionDenied } from './errors.ts';
import { syncAgeSeconds } from './freshness.ts';
import type { Store, View } from './store.ts';

/** Measures all routes added later, and what goes to none. @returns what adds `/metrics` to the routes that need a token */
export async function openMetrics(
  server: FastifyInstance,
  store: Store,
  nowMs: () => number,
): Promise<(server: FastifyInstance) => void> {
  const registry = new Registry();
  const registers = [registry];
  await server.register(metricsPlugin.default, {
    endpoint: null,
    defaultMetrics: { enabled: false },
    routeMetrics: {
      enabled: { histogram: true, summary: false },
      registeredRoutesOnly: false,
      // Not as they were asked for: anybody could make any number of series.
      invalidRouteGroup: 'unknown',
      overrides: { histogram: { registers }, summary: { registers } },
    },
  });
  addMirrorGauges(store, registers, nowMs);
  return (api) => {
    api.get('/metrics', { schema: { hide: true } }, async ({ reader }, reply) => {
      if (!seesEverywhere(reader)) throw permissionDenied('Metrics are of all environments: the token is limited');
      return reply.type(registry.contentType).send(await registry.metrics());
    });
  };
}

/** The counts are of all environments and assets; a token without scopes may have them, and nothing else. */
function seesEverywhere(reader: Reader | null): boolean {
  return reader !== null && [reader.environments, reader.assetIds, reader.paths].every((limit) => limit === null);
}

function addMirrorGauges(store: Store, registers: Registry[], nowMs: () => number): void {
  const counted = countingOnce();
  new Gauge({
    name: 'obsync_mirror_age_seconds',
    help: 'Seconds since a sync of the mirror last ended with all well; NaN when none ever did',
    registers,
    collect() {
      this.set(store.read((view) => syncAgeSeconds(view, nowMs())) ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'obsync_mirror_rows',
    help: 'Live rows of a stream, over all environments',
    labelNames: ['stream'],
    registers,
    collect() {
      for (const [stream, rows] of store.read(counted)) this.set({ stream }, rows);
    },
  });
}

/** Counts anew only when the mirror has changed: a million rows take a while. */
function countingOnce(): (view: View) => ReadonlyMap<string, number> {
  let at = '';
  let counts = new Map<string, number>();
  return (view) => {
    if (view.now !== at) counts = new Map(CATALOGUE.map((entry) => [entry.name, countRows(view, entry)]));
    at = view.now;
    return counts;
  };
}

function countRows(view: View, { table, within }: Entry): number {
  const conditions = ['true'];
  if ('deleted_at' in getTableColumns(table)) conditions.push('deleted_at is null');
  if (within !== undefined) conditions.push(`${within.field} = '${within.is}'`);
  const sql = `select count(*) as rows from ${getTableName(table)} where ${conditions.join(' and ')}`;
  return Number(view.rows({ sql, values: {} })[0]?.['rows']);
}
