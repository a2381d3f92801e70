import { afterEach, beforeEach } from 'vitest';
import type { AlertRule } from '../../../src/core/alerts/alert.ts';
import { type Checkpoint, NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import { changeMarks } from '../../../src/core/decide/marks.ts';
import { newestWins, type RowChange } from '../../../src/core/decide/newest-wins.ts';
import { type DecodedRow, decodePage } from '../../../src/core/decode/decode.ts';
import { SyncError } from '../../../src/core/errors.ts';
import type { Destination, RemovalCount, RoundEnd, RowCounts } from '../../../src/core/ports/destination.ts';
import type { StateStore } from '../../../src/core/ports/state-store.ts';
import type { Row, Stream, StreamName } from '../../../src/core/stream.ts';
import type { Instant } from '../../../src/core/time/instant.ts';
import { STREAM_NAMES } from '../../../src/streams/catalogue.ts';
import { entryNamed } from '../catalogue.ts';
import { type CommitParts, commitOf, PLAIN_ROUND_END } from '../commit-parts.ts';

/** A new, empty mirror of any kind, for the suite. */
interface Mirror {
  /** Its state store, claimed for `BASE_URL`. */
  readonly state: StateStore;
  /** The destination for one environment in this run. */
  destination(envId: string, run: number, alertRules?: readonly AlertRule[]): Destination;
  /** An environment's rows of a table, with the column names of the contract, in any order. */
  rows(table: string, envId: string): Promise<Row[]>;
  /** The table `sync_runs`, in the order of its ids. */
  runs(): Promise<Row[]>;
  /** Makes every write to a table fail, like a full disk, until the returned function is called. */
  breakTable(table: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Creates a mirror whose machine has this clock. */
export type MakeMirror = (clock: () => Instant) => Promise<Mirror>;

export const BASE_URL = 'http://localhost';

export const START = '2026-11-20T04:10:00.000000Z';
export const YESTERDAY = '2026-11-19T04:10:00.000000Z';
export const LAST_WEEK = '2026-11-13T04:10:00.000000Z';

/** A minute or an hour later than the start. */
export const minute = (n: number): Instant => `2026-11-20T04:${String(10 + n).padStart(2, '0')}:00.000000Z`;

interface Where {
  readonly env?: string;
  readonly marking?: readonly StreamName[];
  readonly run?: number;
}

export type Workbench = ReturnType<typeof workbench>;

/** A mirror per test, with helpers. Their default is run 1 and the environment `e`. */
export function workbench(make: MakeMirror) {
  let mirror: Mirror;
  let now = START;
  let alertRules: readonly AlertRule[] = [];
  beforeEach(async () => {
    now = START;
    alertRules = [];
    mirror = await make(() => now);
  });
  afterEach(() => mirror.close());

  const stream: (name: StreamName) => Stream = entryNamed;
  const on = (env = 'e', run = 1): Destination => mirror.destination(env, run, alertRules);
  const decoded = (name: StreamName, items: readonly object[]): DecodedRow[] => [
    ...decodePage(stream(name), items).rows,
  ];

  async function checkpoint(name: StreamName, env = 'e'): Promise<Checkpoint> {
    return (await on(env).load(stream(name))).checkpoint;
  }

  async function commit(
    name: StreamName,
    { checkpoint: given, ...parts }: CommitParts & { readonly checkpoint?: Checkpoint },
    { env, marking = STREAM_NAMES, run }: Where = {},
  ): Promise<RowCounts> {
    const whole = commitOf(given ?? (await checkpoint(name, env)), parts);
    return (await on(env, run).commit(stream(name), whole, new Set(marking))).counts;
  }

  /** The changes that items of a feed cause. */
  async function changes(name: StreamName, items: readonly object[], env = 'e'): Promise<RowChange[]> {
    const rows = decoded(name, items);
    const keys = rows.map((row) => row.key);
    const held = await on(env).existing(stream(name), keys);
    return rows.flatMap((row) => newestWins(stream(name), held.get(row.key[0] as string), row, null) ?? []);
  }

  return {
    stream,
    on,
    decoded,
    changes,
    commit,
    checkpoint,
    state: () => mirror.state,
    runs: () => mirror.runs(),
    breakTable: (table: string) => mirror.breakTable(table),
    setAlertRules(rules: readonly AlertRule[]): void {
      alertRules = rules;
    },
    setClock(at: Instant): void {
      now = at;
    },
    /** The table's rows, sorted by key; with `pick`, only these columns. */
    async rows(table: string, pick: readonly string[] = [], env = 'e'): Promise<Row[]> {
      const rows = (await mirror.rows(table, env)).map((row) =>
        JSON.stringify(pick.length === 0 ? row : picked(row, pick)),
      );
      return rows.sort().map((row) => JSON.parse(row) as Row);
    },
    /** Commits items of a feed stream as a page of a feed, with their marks. */
    async show(name: StreamName, items: readonly object[], where: Where = {}): Promise<RowCounts> {
      const returnedKeys = decoded(name, items).map((row) => row.key);
      const changed = await changes(name, items, where.env);
      const marks = changed
        .flatMap((change) => changeMarks(stream(name), change, null))
        .filter((mark) => (where.marking ?? STREAM_NAMES).includes(mark.stream));
      return commit(name, { changes: changed, marks, returnedKeys }, where);
    },
    /** Stages items. */
    async gather(name: StreamName, items: readonly object[], readNumber = 1, env = 'e'): Promise<void> {
      await commit(name, { staged: { rows: decoded(name, items), readNumber } }, { env });
    },
    async see(name: StreamName, ids: readonly string[], readNumber = 1): Promise<void> {
      await commit(name, { seen: { keys: ids.map((id) => [id]), readNumber } });
    },
    settle(
      name: StreamName,
      { hold = false, ...given }: Partial<RoundEnd> & { hold?: boolean } = {},
      where: Where = {},
    ): Promise<RowCounts> {
      return commit(name, { kind: 'round-end', roundEnd: { ...NO_SETTLEMENT, ...given, isHeld: () => hold } }, where);
    },
    /** The counts of a commit that would end a round. It is rolled back, so it changes nothing. */
    async weigh(name: StreamName, given: Partial<RoundEnd>): Promise<RemovalCount | undefined> {
      let counted: RemovalCount | undefined;
      const isHeld = (removalCount: RemovalCount): never => {
        counted = removalCount;
        throw new SyncError('run', 'it was to be counted only');
      };
      const parts = { kind: 'round-end', roundEnd: { ...NO_SETTLEMENT, ...given, isHeld } } as const;
      await commit(name, parts).catch(() => undefined);
      return counted;
    },
  };
}

const NO_SETTLEMENT: RoundEnd = { ...PLAIN_ROUND_END, isWhole: false };

export const SWEEP = { sweep: { at: START } };

function picked(row: Row, names: readonly string[]): Row {
  return Object.fromEntries(names.map((name) => [name, row[name] ?? null]));
}

/** A checkpoint in the middle of a round, with a value in every field. */
export const UNDER_WAY: Checkpoint = {
  ...NO_PROGRESS,
  watermark: YESTERDAY,
  scannedAt: LAST_WEEK,
  scanEndedAt: YESTERDAY,
  scanEndedCycle: 3,
  scanPages: 12,
  scanDue: 'returned',
  unavailable: true,
  finishedCycle: 4,
  pageLimit: { rows: 125, at: YESTERDAY },
  scanTriedInRun: 6,
  waitingScan: {
    ...{ mode: 'scan', reason: 'clamp', run: 5, cycle: 5, due: 'clamp', firstPageAt: START, lastMark: 7 },
    ...{
      pages: 1,
      scanPages: 1,
      sweeps: true,
      sweepContradicted: false,
      steps: [],
      read: null,
      reads: 1,
      confirmedUpTo: null,
      firstConfirmation: null,
    },
    ...{ consecutiveNotFound: 0, incomplete: false },
  },
  round: {
    ...{
      mode: 'scan',
      reason: 'returned',
      run: 6,
      cycle: 5,
      due: 'returned',
      pages: 2,
      scanPages: 1,
      firstPageAt: START,
      lastMark: 7,
      sweeps: true,
    },
    ...{ sweepContradicted: true, reads: 2, confirmedUpTo: 'k', firstConfirmation: 2 },
    ...{ consecutiveNotFound: 1, incomplete: true },
    steps: [{ do: 'list', as: 'scan', query: { disabled: 'true', limit: 10, ids: ['a', 'ü'] } }],
    read: {
      ...{ as: 'scan', number: 2, path: ['assets'], query: { limit: 10 }, cursor: 'c"2', at: START },
      ...{
        restarts: 1,
        restartRun: 5,
        halvedRun: 6,
        history: { testId: 't', mirroredAt: START, wasRead: true, through: null, gaps: [] },
      },
    },
  },
};

export const asset = (id: string, more: object = {}): object => ({
  ...{ id, name: id, kind: 'table', source_type: 'dbt', synced_at: YESTERDAY },
  ...more,
});
export const column = (id: string, more: object = {}): object => ({
  ...{ id, asset_id: 'a', name: id, synced_at: YESTERDAY },
  ...more,
});
export const test1 = (id: string, more: object = {}): object => ({
  ...{ id, name: id, test_type: 'generic', definition_type: 'dbt', source_type: 'dbt', severity: 'ERROR' },
  ...{ disabled: false, asset_id: 'a', synced_at: YESTERDAY },
  ...more,
});
export const edge = (downstream: string, upstream: string): object => ({
  downstream_column_id: downstream,
  upstream_column_id: upstream,
});
export const link = (upstream: string, downstream: string): object => ({
  upstream_asset_id: upstream,
  downstream_asset_id: downstream,
});
export const execution = (sub: string, id: string, more: object = {}): object => ({
  ...{ id, test_id: 't', sub_test_unique_id: sub, sub_type: 'rows', status: 'PASS', failure_count: 0 },
  ...{ start_time: YESTERDAY, duration_seconds: 1.5, synced_at: YESTERDAY },
  ...more,
});
export const score = (
  asset_id: string,
  value: number,
  dimensions: Readonly<Record<string, number>> = {},
  bucket_at = '2026-11-20T04:00:00',
): object => {
  const bucket = { test_count: 2, bucket_at };
  const parts = Object.entries(dimensions).map(([dimension, part]) => ({ dimension, score: part, ...bucket }));
  return { asset_id, total: { score: value, ...bucket }, dimensions: parts };
};
export const gone = (deleted_at = START): object => ({ deleted_at });
export const range = (count: number, prefix = 'r'): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(4, '0')}`);
