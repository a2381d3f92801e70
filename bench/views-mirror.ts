import type { Database } from 'better-sqlite3';

/** A mirror as large as those of large accounts, without a sync: edges between ten layers, and long histories. */
export const SIZE = { assets: 100_000, edges: 500_000, tests: 10_000, runsPerTest: 100 };

const LAYERS = 10;
/** Edges stay within a domain, like those of a company's departments. */
const DOMAINS = 10;
const NOW = '2026-11-20T00:00:00.000000Z';
const ENV = 'env-1';

/** An id as long as those of the service. */
export const idOf = (kind: string, n: number): string =>
  `${kind}-${n.toString(16).padStart(8, '0')}-4a5b-8c7d-${(n * 7919).toString(16).padStart(12, '0')}`;

/** A deterministic sequence of numbers from 0 to 1. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Writes rows of a table, all in one environment. */
export function createWriter(connection: Database, table: string, names: readonly string[]) {
  const columns = ['env_id', 'mirrored_at', ...names];
  const sql = `insert or ignore into ${table} (${columns}) values (${columns.map(() => '?')})`;
  const statement = connection.prepare(sql);
  return (...values: unknown[]): number => statement.run(ENV, NOW, ...values).changes;
}

function fillAssets(connection: Database, random: () => number): void {
  const names = ['id', 'name', 'kind', 'db_name', 'schema_name', 'owners', 'updated_at'];
  const asset = createWriter(connection, 'assets', names);
  const edge = createWriter(connection, 'asset_lineage', ['upstream_asset_id', 'downstream_asset_id']);
  const perLayer = SIZE.assets / LAYERS;
  for (let n = 0; n < SIZE.assets; n += 1) {
    const kind = n < SIZE.assets - perLayer ? 'table' : 'bi';
    asset(idOf('asset', n), `asset ${n}`, kind, 'db', `schema ${n % 40}`, `["owner ${n % 50}"]`, NOW);
  }
  let edges = 0;
  for (let n = perLayer; edges < SIZE.edges; n = n + 1 < SIZE.assets ? n + 1 : perLayer) {
    const layer = Math.floor(n / perLayer) - 1;
    for (let i = 0; i < 3; i += 1) {
      const upstream = layer * perLayer + Math.floor((random() * perLayer) / DOMAINS) * DOMAINS + (n % DOMAINS);
      edges += edge(idOf('asset', upstream), idOf('asset', n));
    }
  }
}

/** Three in a hundred runs that follow a PASS fail, and then three in four of those that follow. */
function fillRuns(connection: Database, random: () => number): void {
  const names = ['id', 'name', 'test_type', 'disabled', 'asset_id', 'owners', 'tags'];
  const test = createWriter(connection, 'tests', names);
  const run = ['sub_test_unique_id', 'id', 'test_id', 'sub_type', 'status', 'start_time', 'duration_seconds'];
  const latest = createWriter(connection, 'latest_test_executions', run);
  const execution = createWriter(connection, 'test_executions', run);
  for (let n = 0; n < SIZE.tests; n += 1)
    test(
      idOf('test', n),
      `test ${n}`,
      `type ${n % 12}`,
      0,
      idOf('asset', n * 3),
      `["owner ${n % 30}"]`,
      `["tag ${n % 9}"]`,
    );
  const isFailing = new Set<number>();
  for (let day = 0; day < SIZE.runsPerTest; day += 1)
    for (let n = 0; n < SIZE.tests; n += 1) {
      if (random() < (isFailing.has(n) ? 0.75 : 0.03)) isFailing.add(n);
      else isFailing.delete(n);
      const at = new Date(Date.UTC(2026, 7, 12 + day) + n * 1000).toISOString().replace('Z', '000Z');
      const status = isFailing.has(n) ? 'FAIL' : random() < 0.015 ? 'SKIPPED' : 'PASS';
      const ids = [idOf('sub', n), idOf('run', day * SIZE.tests + n), idOf('test', n)];
      execution(...ids, 'rows', status, at, 1.5);
      if (day === SIZE.runsPerTest - 1) latest(...ids, 'rows', status, at, 1.5);
    }
}

export function fillMirror(connection: Database): void {
  const random = seededRandom(7);
  fillAsSynced(connection, NOW, () => {
    fillAssets(connection, random);
    fillRuns(connection, random);
  });
}

/** Fills a mirror of one environment, and leaves it like the end of a sync at this time. */
export function fillAsSynced(connection: Database, at: string, fill: () => void): void {
  connection.pragma('synchronous = OFF');
  connection.exec(`insert into environments (id, name, mirrored_at) values ('${ENV}', 'Production', '${at}')`);
  connection.exec(`insert into mirror_environments (env_id, mirrored_at) values ('${ENV}', '${at}')`);
  connection.exec(`insert into sync_checkpoints (env_id, stream, watermark, unavailable)
    values ('${ENV}', 'assets', '${at}', 0)`);
  connection.transaction(fill)();
  connection.pragma('analysis_limit = 400');
  connection.pragma('optimize = 0x10002');
}
