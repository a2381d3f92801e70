import { createHash } from 'node:crypto';

/** A typical account: most of it columns and the edges between distant ones, half of the ids hashes, none in order. */
export interface BenchWorld {
  /** Row `n` of a list, in the order in which the service lists it. */
  readonly lists: Readonly<Record<string, BenchList>>;
  /** Rows by the id that a request uses. */
  find(path: string, parameter: string, id: string): readonly number[];
}

export interface BenchList {
  readonly rows: number;
  /**
   * `generation` is the time of the last change of one row in a hundred, in ms; 0 for never. Edges have a generation of
   * their own.
   */
  row(n: number, generation: number): Item;
  /** Whether the feeds report its changes. */
  readonly feed: boolean;
}

export type Item = Readonly<Record<string, unknown>>;

/** How large an account is. */
export interface WorldSize {
  /** Thousands of rows; at 0 no list is longer than the columns of one table. */
  readonly thousands: number;
  /** Environments that all have the same rows; 1 by default. */
  readonly environments?: number;
  /** Tests, each with a latest execution; by default as many as the size implies. */
  readonly tests?: number;
}

/** Rows of all lists at scale 1, in thousands: the mix described in `docs/benchmarks.md`. */
const THOUSANDS_AT_SCALE_1 = 742;

const COLUMNS_PER_TABLE = 50;
const WORDS = ['orders', 'customers', 'payments', 'sessions', 'inventory', 'refunds', 'ledger'];

const hash = (text: string): string => createHash('md5').update(text).digest('hex');
const time = (n: number): string =>
  new Date(Date.UTC(2026, 9, 1) + (n % 2_000_000) * 1000).toISOString().replace('Z', '123Z');

/** A fixed permutation of 0 to `count` - 1, unrelated to numeric order. */
function shuffled(count: number, seed: number): (n: number) => number {
  let factor = Math.floor(count * 0.618) + seed;
  while (divisor(factor, count) !== 1) factor += 1;
  return (n) => (n * factor + seed) % count;
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

/** One row in a hundred, deterministically. */
const changesAt = (n: number): boolean => n % 100 === 37;
const syncedAt = (n: number, generation: number): string =>
  generation > 0 && changesAt(n) ? new Date(generation).toISOString() : time(n);

export function benchWorld({ thousands, tests: given }: WorldSize): BenchWorld {
  const scale = thousands / THOUSANDS_AT_SCALE_1;
  const of = (rows: number): number => Math.max(1, Math.round(rows * scale));
  const tables = of(8000);
  const columns = tables * COLUMNS_PER_TABLE;
  const edges = Math.round(columns * 0.7);
  const tests = given ?? of(12_000);
  const assetOf = (n: number): string => (n % 2 === 0 ? `model.warehouse.${WORDS[n % 7]}_${n}` : hash(`asset ${n}`));
  const columnOf = (n: number): string => {
    const table = Math.floor(n / COLUMNS_PER_TABLE);
    return table % 2 === 0 ? `${assetOf(table)}.column_${n % COLUMNS_PER_TABLE}` : hash(`column ${n}`);
  };
  const testOf = (n: number): string => (n % 2 === 0 ? `test.warehouse.not_null_${n}` : hash(`test ${n}`));
  const tableOrder = shuffled(tables, 17);
  const columnOrder = (n: number): number =>
    tableOrder(Math.floor(n / COLUMNS_PER_TABLE)) * COLUMNS_PER_TABLE + (n % COLUMNS_PER_TABLE);
  const downstream = shuffled(columns, 101);
  const upstream = shuffled(columns, 7919);
  const asset = (at: number, generation: number): Item => {
    const n = tableOrder(at);
    return {
      id: assetOf(n),
      name: `${WORDS[n % 7]}_${n}`,
      kind: 'table',
      source_type: 'dbt',
      description: `One row for each of ${WORDS[n % 7]}, as the shop reports it${generation > 0 && changesAt(at) ? `, version ${generation}` : ''}`,
      owners: ['data-platform'],
      tags: ['finance', 'daily'],
      parent_id: null,
      path: `models/marts/area_${n % 13}`,
      created_at: time(n),
      updated_at: time(n),
      synced_at: syncedAt(at, generation),
    };
  };
  const changedColumns = new Set(changedRows(columns).map(columnOrder));
  /** With a generation, an edge whose downstream column changes comes from another column. */
  const edge = (n: number, generation: number): Item => ({
    upstream_column_id: columnOf(upstream(changedColumns.has(downstream(n)) ? (n + generation) % columns : n)),
    downstream_column_id: columnOf(downstream(n)),
  });
  const bucket = (n: number): Item => ({ score: (n % 1000) / 1000, test_count: n % 9, bucket_at: time(0) });
  const numbers: Readonly<Record<string, Map<string, number[]>>> = {
    columns: Map.groupBy(Array(columns).keys(), (n) => columnOf(columnOrder(n))),
    assets: Map.groupBy(Array(tables).keys(), (n) => assetOf(tableOrder(n))),
    'column-lineage': Map.groupBy(Array(edges).keys(), (n) => columnOf(downstream(n))),
    tests: Map.groupBy(Array(tests).keys(), testOf),
  };
  return {
    find: (path, parameter, id) => {
      if (parameter === 'asset_ids') return [];
      return numbers[path.startsWith('assets') ? 'assets' : path]?.get(id) ?? [];
    },
    lists: {
      assets: { rows: tables, feed: true, row: asset },
      'assets/tables': {
        rows: tables,
        feed: true,
        row: (n, generation) => ({
          ...asset(n, generation),
          data_platform: 'snowflake',
          db_name: 'analytics',
          schema_name: `schema_${n % 97}`,
          table_name: `TABLE_${n}`,
          materialization: 'table',
        }),
      },
      columns: {
        rows: columns,
        feed: true,
        row: (at, generation) => {
          const n = columnOrder(at);
          return {
            id: columnOf(n),
            asset_id: assetOf(Math.floor(n / COLUMNS_PER_TABLE)),
            name: `column_${n % COLUMNS_PER_TABLE}`,
            data_type: generation > 0 && changesAt(at) ? `VARCHAR(${generation})` : 'VARCHAR',
            synced_at: syncedAt(at, generation),
          };
        },
      },
      tests: {
        rows: tests,
        feed: true,
        row: (n, generation) => ({
          id: testOf(n),
          name: 'not_null',
          test_type: 'dbt_test',
          definition_type: 'not_null',
          source_type: 'dbt',
          severity: generation > 0 && changesAt(n) ? 'WARN' : 'ERROR',
          disabled: false,
          asset_id: assetOf(n % tables),
          column_name: 'id',
          config: { sensitivity: 'low' },
          owners: [],
          tags: [],
          synced_at: syncedAt(n, generation),
        }),
      },
      'asset-lineage': {
        rows: of(12_000),
        feed: false,
        row: (n) => ({
          upstream_asset_id: assetOf(tableOrder(n % tables)),
          downstream_asset_id: assetOf((tableOrder(n % tables) + 1 + Math.floor(n / tables)) % tables),
        }),
      },
      'column-lineage': { rows: edges, feed: true, row: edge },
      'latest-test-executions': {
        rows: tests,
        feed: false,
        row: (n, generation) => ({
          id: `execution-${n}-${changesAt(n) ? generation : 0}`,
          test_id: testOf(n),
          sub_test_unique_id: `${testOf(n)}.sub`,
          sub_type: 'generic',
          status: generation > 0 && changesAt(n) ? 'FAIL' : 'PASS',
          failure_count: 0,
          start_time: time(n),
          duration_seconds: 1.25,
          synced_at: syncedAt(n, generation),
        }),
      },
      'asset-health-scores': {
        rows: tables,
        feed: false,
        // They change once an hour.
        row: (n) => ({
          asset_id: assetOf(tableOrder(n)),
          dimensions: ['freshness', 'validity'].map((dimension, i) => ({ dimension, ...bucket(n + i) })),
          total: bucket(n),
        }),
      },
    },
  };
}

/** The rows of a list of this length that a generation has changed. */
export function changedRows(rows: number): number[] {
  return Array.from({ length: Math.ceil(rows / 100) }, (_, i) => i * 100 + 37).filter((n) => n < rows);
}
