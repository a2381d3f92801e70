import { Counter, Gauge, type GaugeConfiguration, Histogram, Registry } from '@prometheus-io/client';
import type { SourceEvent } from '../core/ports/source.ts';
import type { WorkDatabase } from './database.ts';
import { JOB_RESULTS, type WorkerEvent } from './perform-job.ts';

type MeasuredEvent =
  | WorkerEvent
  | { readonly type: 'started' | 'alerts' }
  | { readonly type: 'source'; readonly event: SourceEvent };

/** Counts the jobs of this worker, and queries the shared queue whenever metrics are read. */
export function createWorkerMetrics(database: WorkDatabase) {
  const registry = new Registry();
  const registers = [registry];
  const onEvent = countEvents(registers);
  for (const { sql, ...options } of QUEUE_AND_AGES)
    new Gauge({
      ...options,
      registers,
      async collect() {
        const { rows } = await database.query(sql);
        this.reset();
        for (const { value, ...labels } of rows) this.set(labels as Record<string, string>, Number(value));
      },
    });
  return { contentType: registry.contentType, onEvent, text: () => registry.metrics() };
}

function countEvents(registers: Registry[]): (event: MeasuredEvent) => void {
  const jobs = new Counter({
    name: 'obsync_worker_jobs_total',
    help: 'Jobs that this worker has ended, by result',
    labelNames: ['result'],
    registers,
  });
  // Prometheus sees no increase in a series that starts at 1, so an alert would miss the first failure.
  for (const result of JOB_RESULTS) jobs.inc({ result }, 0);
  const seconds = new Histogram({
    name: 'obsync_worker_sync_seconds',
    help: 'How long the syncs of this worker took',
    buckets: [0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600],
    registers,
  });
  const running = new Gauge({ name: 'obsync_worker_running', help: 'Syncs in flight on this worker', registers });
  const requests = new Counter({
    name: 'obsync_worker_requests_total',
    help: 'Requests that this worker has sent to services, by status',
    labelNames: ['status'],
    registers,
  });
  const waits = new Counter({
    name: 'obsync_worker_wait_seconds_total',
    help: 'Seconds that syncs of this worker have waited: for quota, after a 429, or before a retry',
    labelNames: ['reason'],
    registers,
  });
  return (event) => {
    if (event.type === 'begun') running.inc();
    if (event.type === 'job') {
      jobs.inc({ result: event.result });
      if (event.environment === null) return;
      running.dec();
      seconds.observe(event.seconds);
    }
    if (event.type !== 'source') return;
    if (event.event.type === 'request') requests.inc({ status: String(event.event.status) });
    else if (event.event.type === 'wait') waits.inc({ reason: event.event.reason }, event.event.delayMs / 1000);
  };
}

const selectOfQueue = (value: string): string =>
  `select (${value})::float8 as value from (
    select *, due_at <= now() and worker is null as waits from obsync_accounts.account_environments) e`;

/** `sql` selects the value, and the labels by name. */
const QUEUE_AND_AGES: readonly (GaugeConfiguration<string> & { readonly sql: string })[] = [
  {
    name: 'obsync_queue_waiting',
    help: 'Syncs of all accounts that are due and not started',
    sql: selectOfQueue('count(*) filter (where waits)'),
  },
  {
    name: 'obsync_queue_oldest_seconds',
    help: 'How long the longest-waiting sync has been due; 0 if none is waiting',
    sql: selectOfQueue('coalesce(extract(epoch from now() - min(due_at) filter (where waits)), 0)'),
  },
  {
    name: 'obsync_queue_running',
    help: 'Syncs of all accounts that are in flight',
    sql: selectOfQueue('count(*) filter (where worker is not null)'),
  },
  {
    name: 'obsync_account_age_seconds',
    help: 'Seconds since the last sync without problems of the account’s stalest environment started; +Inf if an environment never had one, or no environment is known',
    labelNames: ['account'],
    sql: `select a.name as account, case when bool_or(e.synced_at is null) then 'Infinity'
        else extract(epoch from now() - min(e.synced_at))::float8 end as value
      from obsync_accounts.accounts a left join obsync_accounts.account_environments e on e.account = a.name
      where e.due_at is not null or not exists (
        select 1 from obsync_accounts.account_environments o where o.account = a.name and o.due_at is not null)
      group by a.name`,
  },
];
