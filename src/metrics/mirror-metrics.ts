import { Gauge, type GaugeConfiguration, type Registry } from '@prometheus-io/client';
import type { RunStatus } from '../core/ports/state-store.ts';
import { FAILING_STATUSES } from '../core/read-api.ts';
import { STREAM_NAMES } from '../streams/catalogue.ts';
import type { Measurements } from './measurements.ts';
import { type SyncAges, syncAges } from './sync-ages.ts';

type GaugeSample = readonly [labels: Readonly<Record<string, string>>, value: number];

interface MirrorGauge extends Pick<GaugeConfiguration<string>, 'name' | 'help' | 'labelNames'> {
  samples(measurements: Measurements, ages: SyncAges): readonly GaugeSample[];
}

/** The age of what was never mirrored. NaN would be less than any threshold of an alert. */
const NEVER = Number.POSITIVE_INFINITY;

const RUN_STATUSES: readonly RunStatus[] = ['done', 'problems', 'refused', 'stopped', 'interrupted'];

/** The metrics of a mirror, wherever they are shown. */
const GAUGES: readonly MirrorGauge[] = [
  {
    name: 'obsync_mirror_age_seconds',
    help: 'Seconds since the last sync that ended without problems; +Inf if there was none',
    samples: (_, { mirror }) => [[{}, mirror ?? NEVER]],
  },
  {
    name: 'obsync_environment_age_seconds',
    help: 'Seconds since the time up to which the stalest stream of the environment is mirrored; +Inf if one never was',
    labelNames: ['environment'],
    samples: (_, { environments }) => environments.map(({ seconds, ...labels }) => [labels, seconds ?? NEVER]),
  },
  {
    name: 'obsync_stream_age_seconds',
    help: 'Seconds since the time up to which the stream of the environment is mirrored; +Inf if it never was',
    labelNames: ['environment', 'stream'],
    samples: (_, { streams }) =>
      streams.map(({ environment, stream, seconds }) => [{ environment, stream }, seconds ?? NEVER]),
  },
  {
    name: 'obsync_last_run_status',
    help: '1 for the status of the last sync that ended, 0 for the others',
    labelNames: ['status'],
    samples: ({ lastRun: [run] }) => RUN_STATUSES.map((status) => [{ status }, Number(run?.['status'] === status)]),
  },
  {
    name: 'obsync_last_run_timestamp_seconds',
    help: 'When the last sync ended, in seconds since 1970; 0 if there was none',
    samples: ({ lastRun: [run] }) => [[{}, Date.parse(String(run?.['ended_at'])) / 1000 || 0]],
  },
  {
    name: 'obsync_last_run_requests',
    help: 'Requests that the last sync sent',
    samples: ({ lastRun: [run] }) => [[{}, Number(run?.['requests'] ?? 0)]],
  },
  {
    name: 'obsync_quota_limit_requests',
    help: 'Requests per window of the quota, as the service last reported; absent if it never did',
    samples: ({ quota: [quota] }) => reported(quota?.['quota_limit']),
  },
  {
    name: 'obsync_quota_remaining_requests',
    help: 'Requests left of the quota when the last run ended, as the service last reported; absent if it never did',
    samples: ({ quota: [quota] }) => reported(quota?.['quota_remaining']),
  },
  {
    name: 'obsync_held_removals',
    help: 'Rows whose deletion is held back',
    labelNames: ['environment', 'stream'],
    samples: ({ held }, ages) => counts(ages, 'stream', { of: STREAM_NAMES, found: held }),
  },
  {
    name: 'obsync_rejected_rows',
    help: 'Objects of the service that the mirror cannot store',
    labelNames: ['environment', 'stream'],
    samples: ({ rejected }, ages) => [
      ...counts(ages, 'stream', { of: STREAM_NAMES, found: rejected }),
      // Environments are objects too, and belong to none.
      ...numbersOf([{ environment: '', stream: 'environments' }], rejected),
    ],
  },
  {
    name: 'obsync_failing_tests',
    help: 'Sub-tests of enabled tests by their latest result, if that is WARN, FAIL or ERROR',
    labelNames: ['environment', 'status'],
    samples: ({ failing }, ages) => counts(ages, 'status', { of: FAILING_STATUSES, found: failing }),
  },
  {
    name: 'obsync_open_incidents',
    help: 'Incidents of enabled tests that are not resolved',
    labelNames: ['environment'],
    samples: ({ incidents }, { environments }) =>
      numbersOf(
        environments.map(({ environment }) => ({ environment })),
        incidents,
      ),
  },
  {
    name: 'obsync_health_score',
    help: 'Mean of the current scores of all assets in a dimension, or of their totals, from 0 to 1',
    labelNames: ['environment', 'dimension'],
    samples: ({ scores }) =>
      scores.map((row) => [
        { environment: String(row['environment']), dimension: String(row['dimension']) },
        Number(row['score']),
      ]),
  },
  {
    name: 'obsync_mirror_rows',
    help: 'Live rows of a stream, over all environments',
    labelNames: ['stream'],
    samples: ({ rows }) => rows.map((row) => [{ stream: String(row['stream']) }, Number(row['number'])]),
  },
];

function reported(value: unknown): GaugeSample[] {
  return typeof value === 'number' ? [[{}, value]] : [];
}

/** A series per listed environment and value of the label, also where nothing was counted. */
function counts(
  { environments }: SyncAges,
  label: string,
  { of, found }: { readonly of: readonly string[]; readonly found: Measurements['held'] },
): GaugeSample[] {
  const series = environments.flatMap(({ environment }) => of.map((value) => ({ environment, [label]: value })));
  return numbersOf(series, found);
}

/** Each of the series with the number that was counted for its labels; 0 for none. All have the same labels. */
function numbersOf(series: readonly GaugeSample[0][], found: Measurements['held']): GaugeSample[] {
  const names = Object.keys(series[0] ?? {});
  const keyOf = (labels: Readonly<Record<string, unknown>>): string =>
    JSON.stringify(names.map((name) => labels[name]));
  const numbers = new Map(found.map((row) => [keyOf(row), Number(row['number'])]));
  return series.map((labels) => [labels, numbers.get(keyOf(labels)) ?? 0]);
}

/** Adds the metrics of a mirror to a registry, and returns a function that sets them. */
export function addMirrorMetrics(registers: Registry[]): (measurements: Measurements, nowMs: number) => void {
  const gauges = GAUGES.map(({ name, help, labelNames = [], samples }) => {
    return { samples, labelNames, gauge: new Gauge({ name, help, labelNames, registers }) };
  });
  return (measurements, nowMs) => {
    const ages = syncAges(measurements, nowMs);
    for (const { gauge, labelNames, samples } of gauges) {
      gauge.reset();
      // A reset sets a gauge without labels to 0.
      if (labelNames.length === 0) gauge.remove();
      for (const [labels, value] of samples(measurements, ages)) gauge.set(labels, value);
    }
  };
}
