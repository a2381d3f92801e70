import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runOnce } from '../src/api/session.ts';
import { openForReading } from '../src/destination/sqlite/open.ts';
import { rootToken } from '../src/server/access.ts';
import { openAnswering } from '../src/server/answers.ts';
import { openMirrorReads } from '../src/server/mirror-reads.ts';
import { syncSettings, watchOf } from '../src/settings/sync-settings.ts';
import { keepFigures, MACHINE, median, print } from './figures.ts';

/**
 * A year of hourly syncs of an account whose scores change every hour: the size of the file, the CPU time of a sync
 * and that of the page's data. The clocks of the service and of this process are simulated. Arguments: the number of
 * assets, by default 50, the number of days, and `--keep` to save the figures in `docs/benchmarks.md`.
 */
const numbers = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const [ASSETS = 50, DAYS = 365] = numbers.map(Number);
const [START_MS, HOUR_MS] = [Date.UTC(2026, 0, 1), 3_600_000];
const DIMENSIONS = ['completeness', 'freshness', 'uniqueness'];
const PAGES = [
  ['pageMirror', {}],
  ['pageFailing', { limit: 100, offset: 0 }],
  ['pageTrends', { days: 90 }],
] as const;

let hour = 0;
const nowMs = (): number => START_MS + hour * HOUR_MS + 60_000;
const isoText = (ms: number): string => new Date(ms).toISOString();
globalThis.Date = class extends Date {
  constructor(...given: [] | [string | number]) {
    super(given.length === 0 ? nowMs() : given[0]);
  }
  static override now = nowMs;
} as DateConstructor;

const idOf = (asset: number): string => `asset-${(asset * 7919) % ASSETS}-of-the-warehouse`;

const tables = (): object[] =>
  Array.from({ length: ASSETS }, (_, n) => ({
    ...{
      id: idOf(n),
      name: idOf(n),
      kind: 'table',
      source_type: 'dbt',
      path: `warehouse/${n % 9}`,
      synced_at: isoText(START_MS),
    },
    ...{ owners: [], tags: [], data_platform: 'snowflake', db_name: 'analytics', schema_name: `schema_${n % 9}` },
    ...{ table_name: idOf(n), materialization: 'table' },
  }));

const LISTS: Readonly<Record<string, () => object[]>> = {
  assets: tables,
  tables,
  'asset-health-scores': () =>
    Array.from({ length: ASSETS }, (_, n) => {
      const bucket = { test_count: 3, bucket_at: isoText(START_MS + hour * HOUR_MS) };
      const score = ((n * 7 + hour * 13) % 100) / 100;
      const dimensions = DIMENSIONS.map((dimension) => ({ dimension, score, ...bucket }));
      return { asset_id: idOf(n), total: { score, ...bucket }, dimensions };
    }),
};

const service = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const list = pathname.split('/').at(-1) ?? '';
  const isFeed = searchParams.has('synced_since') || searchParams.has('deleted_since');
  const items = isFeed ? [] : (LISTS[list]?.() ?? []);
  const body = list === 'environments' ? [{ id: 'e', name: 'Year' }] : { items, has_more: false, next_cursor: null };
  response.setHeader('date', new Date().toUTCString());
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
});

async function cpuSecondsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function loadPage(path: string): void {
  const mirror = openForReading(path);
  const { answer } = openAnswering({ store: openMirrorReads(mirror), weights: new Map() });
  const { reader } = rootToken('all', 'all');
  for (const [operationId, query] of PAGES) answer({ operationId, query, reader, params: { env_id: 'e' } });
  mirror.connection.close();
}

function countRows(path: string, table: string): number {
  const { connection } = openForReading(path);
  const count = connection.prepare<[], number>(`select count(*) from ${table}`).pluck().get();
  connection.close();
  return count ?? 0;
}

const folder = mkdtempSync(join(tmpdir(), 'obsync-year-'));
await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
try {
  const db = join(folder, 'mirror.db');
  const baseUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const settings = syncSettings({ baseUrl, token: 'bench', db, allowHttp: true, shareQuota: false });
  const { signal } = new AbortController();
  print(`${MACHINE}; ${ASSETS} assets, ${ASSETS * (DIMENSIONS.length + 1)} scores an hour; medians of a day's syncs\n`);
  print(
    '| day | file MiB | scores | rows of the run log | a sync, CPU s | the page, CPU ms |\n|---|---|---|---|---|---|',
  );
  for (let day = 1; day <= DAYS; day++) {
    const seconds: number[] = [];
    for (; hour < day * 24; hour++)
      seconds.push(
        await cpuSecondsOf(async () => {
          const { status, error } = await runOnce(settings, watchOf({ signal }));
          if (status !== 'done') throw new Error(`a sync ended ${status}: ${error}`);
        }),
      );
    if (day % 30 !== 0) continue;
    const page = await cpuSecondsOf(() => loadPage(db));
    const rows = ['asset_health_score_history', 'sync_stream_runs'].map((table) => countRows(db, table));
    const mib = Math.round(statSync(db).size / 2 ** 20);
    print(`| ${[day, mib, ...rows, median(seconds).toFixed(2), Math.round(1000 * page)].join(' | ')} |`);
  }
} finally {
  service.close();
  rmSync(folder, { recursive: true });
}
const LEGEND = `Hourly syncs with the default retention (\`--thin-scores 90d\`, \`--keep-runs 90d\`), by \`npm run bench:year\`, which takes
ten minutes. The service runs in the same process, so its CPU time is included.`;
keepFigures('## A year of hourly syncs', LEGEND);
