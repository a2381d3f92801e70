import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { openForWriting } from '../src/destination/sqlite/open.ts';
import { createWriter, fillAsSynced, idOf, seededRandom } from './views-mirror.ts';

/**
 * A mirror as large and awkward as those of large accounts: lineage with hubs, chains and cycles, tests with many
 * sub-tests, an asset with very many columns, and ids in random order.
 */
export const PAGE_SIZE = {
  tables: 30_000,
  dashboards: 3_000,
  columns: 1_000_000,
  edges: 100_000,
  columnEdges: 200_000,
  tests: 20_000,
  runs: 1_000_000,
  days: 90,
  failing: 300,
  /** Tables with daily scores in four dimensions. */
  scored: 5_000,
};

const LAYERS = 12;
/** A table of the first layer with very many readers. */
export const HUB = idOf('asset', 7);
/** A table in the middle. */
export const MIDDLE = idOf('asset', 15_003);
const DIMENSIONS = ['total', 'completeness', 'freshness', 'validity'];
const ASSETS = PAGE_SIZE.tables + PAGE_SIZE.dashboards;
const DAY_MS = 86_400_000;
const END_MS = Date.UTC(2026, 10, 20);

const instant = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');

/** 0, 1, 2 … in random order. */
function shuffled(count: number, random: () => number): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
  }
  return order;
}

function fillAssets(connection: Database, random: () => number): void {
  const names = ['id', 'name', 'kind', 'db_name', 'schema_name', 'path', 'owners', 'tags', 'updated_at'];
  const asset = createWriter(connection, 'assets', names);
  for (const n of shuffled(ASSETS, random)) {
    const kind = n < PAGE_SIZE.tables ? 'table' : 'bi';
    const schema = `schema_${n % 40}`;
    const owners = JSON.stringify([`owner ${n % 50}`, { name: `team ${n % 12}` }]);
    const path = `half ${n % 2}/domain ${n % 30}/${schema}`;
    asset(
      idOf('asset', n),
      `${schema}.table_${n}`,
      kind,
      `db ${n % 3}`,
      schema,
      path,
      owners,
      '["tag 1"]',
      instant(END_MS),
    );
  }
  const column = createWriter(connection, 'columns', ['id', 'asset_id', 'name', 'data_type']);
  for (const n of shuffled(PAGE_SIZE.columns, random)) {
    // One table has five thousand columns.
    const of = n < 5000 ? 15_003 : n % PAGE_SIZE.tables;
    column(idOf('column', n), idOf('asset', of), `column_${Math.floor(n / PAGE_SIZE.tables)}_${n % 7}`, 'text');
  }
}

/** Most edges lead to the next layer and prefer a few tables; some skip layers, and some lead back. */
function fillLineage(connection: Database, random: () => number): void {
  const edge = createWriter(connection, 'asset_lineage', ['upstream_asset_id', 'downstream_asset_id']);
  const perLayer = Math.ceil(ASSETS / LAYERS);
  const within = (layer: number): number => layer * perLayer + Math.floor(random() ** 3 * perLayer);
  let edges = 0;
  for (let n = 0; n < 8000; n += 1) edges += edge(HUB, idOf('asset', perLayer + n * 3));
  while (edges < PAGE_SIZE.edges) {
    const to = perLayer + Math.floor(random() * (ASSETS - perLayer));
    const layer = Math.floor(to / perLayer);
    const from = random() < 0.9 ? within(layer - 1) : within(Math.floor(random() * LAYERS));
    if (from < ASSETS) edges += edge(idOf('asset', from), idOf('asset', to));
  }
  const columnEdge = createWriter(connection, 'column_lineage', ['upstream_column_id', 'downstream_column_id']);
  for (let n = 0; n < PAGE_SIZE.columnEdges; n += 1) {
    const [from, to] = [Math.floor(random() ** 2 * PAGE_SIZE.columns), Math.floor(random() * PAGE_SIZE.columns)];
    columnEdge(idOf('column', from), idOf('column', to));
  }
}

/** The tables of the tests: low numbers have more tests. */
const testedBy = (n: number): number => (n * 3 + Math.floor(n / 7)) % 12_000;

function fillTests(connection: Database, random: () => number): void {
  const names = ['id', 'name', 'test_type', 'severity', 'disabled', 'asset_id', 'column_name', 'owners', 'tags'];
  const test = createWriter(connection, 'tests', names);
  for (const n of shuffled(PAGE_SIZE.tests, random)) {
    const owners = n % 3 === 0 ? '[]' : `["owner ${n % 30}"]`;
    const severity = n % 5 === 0 ? 'WARNING' : 'ERROR';
    const more = [owners, `["tag ${n % 25}", "nightly"]`];
    test(
      idOf('test', n),
      `test ${n}`,
      `type ${n % 12}`,
      severity,
      0,
      idOf('asset', testedBy(n)),
      `column_${n % 9}_1`,
      ...more,
    );
  }
}

/** Each test runs at its own time of day, on most days. Now and then a test fails for a few days. */
function fillRuns(connection: Database, random: () => number): void {
  const names = [
    'sub_test_unique_id',
    'id',
    'test_id',
    'sub_type',
    'status',
    'start_time',
    'duration_seconds',
    'exception',
  ];
  const latest = createWriter(connection, 'latest_test_executions', names);
  const execution = createWriter(connection, 'test_executions', names);
  const perDay = PAGE_SIZE.runs / PAGE_SIZE.days;
  const isFailing = new Set<number>();
  const last = new Map<number, unknown[]>();
  for (let i = 0; i < PAGE_SIZE.runs; i += 1) {
    const n = Math.floor(random() * PAGE_SIZE.tests);
    // A hundred tests have ten sub-tests each.
    const sub = n < 100 ? i % 10 : 0;
    const key = n * 10 + sub;
    if (random() < (isFailing.has(key) ? 0.6 : 0.006)) isFailing.add(key);
    else isFailing.delete(key);
    const status = isFailing.has(key) ? (i % 3 === 0 ? 'WARN' : 'FAIL') : random() < 0.01 ? 'SKIPPED' : 'PASS';
    const at = instant(END_MS - PAGE_SIZE.days * DAY_MS + (i / perDay) * DAY_MS);
    const exception = isFailing.has(key) ? 'the value is not what was expected. '.repeat(8) : null;
    const run = [idOf(`sub${sub}`, n), idOf('run', i), idOf('test', n), 'rows', status, at, 1.5, exception];
    execution(...run);
    last.set(key, run);
  }
  for (const run of last.values()) latest(...run);
}

function fillScores(connection: Database, random: () => number): void {
  const total = createWriter(connection, 'asset_health_scores', ['asset_id', 'score', 'test_count', 'bucket_at']);
  const dimensionNames = ['asset_id', 'dimension', 'score', 'test_count', 'bucket_at'];
  const dimension = createWriter(connection, 'asset_health_score_dimensions', dimensionNames);
  const history = createWriter(connection, 'asset_health_score_history', dimensionNames);
  const at = (day: number): string => instant(END_MS - (PAGE_SIZE.days - day) * DAY_MS + 5 * 3_600_000);
  for (const n of shuffled(PAGE_SIZE.scored, random)) {
    const last = at(PAGE_SIZE.days - 1);
    total(idOf('asset', n), random(), 3, last);
    for (const name of DIMENSIONS) {
      if (name !== 'total') dimension(idOf('asset', n), name, random(), 3, last);
      for (let day = 0; day < PAGE_SIZE.days; day += 1) history(idOf('asset', n), name, random(), 3, at(day));
    }
  }
}

function fillLog(connection: Database): void {
  connection.exec(`insert into mirror (id, base_url) values (1, 'https://service.test')`);
  const now = instant(END_MS);
  connection.exec(`insert into sync_runs (id, cycle_id, status, started_at, ended_at, server_time)
    values (1, 1, 'done', '${now}', '${now}', '${now}')`);
}

/** As if a sync had ended on each of these days. */
const FILL_MEANS = `insert into asset_health_means (env_id, day, dimension, score, asset_count, scores_at)
  select env_id, day, dimension, avg(score), count(*), '' from health_daily group by env_id, day, dimension`;

function fillPageMirror(connection: Database): void {
  const random = seededRandom(11);
  fillAsSynced(connection, instant(END_MS), () => {
    for (const fill of [fillAssets, fillLineage, fillTests, fillRuns, fillScores]) fill(connection, random);
    fillLog(connection);
    connection.exec(FILL_MEANS);
  });
}

/** Opens the mirror in a temporary file or, with `--at FILE`, in that one, and fills it if it is new. */
export function openPageMirror() {
  const at = process.argv.indexOf('--at');
  const folder = mkdtempSync(join(tmpdir(), 'obsync-page-'));
  const path = at === -1 ? join(folder, 'mirror.db') : String(process.argv[at + 1]);
  const written = openForWriting(path);
  if (written.connection.prepare('select 1 from environments').get() === undefined) fillPageMirror(written.connection);
  return { path, written, remove: () => rmSync(folder, { recursive: true }) };
}
