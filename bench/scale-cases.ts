import { existsSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { median } from './figures.ts';
import { type Bench, openBench, SYNC, type Usage } from './measure.ts';
import type { WorldSize } from './world.ts';

const STATUS = ['dist/main.js', 'status', '--json'];
const MIB = 2 ** 20;
/** The number of runs whose median is used, for short measurements. */
export const RUNS = 3;

/** An upper limit: a ratio within one run of the benchmark, or a count. */
interface Bound {
  readonly what: string;
  readonly found: number;
  readonly most: number;
}

export interface Line {
  readonly what: string;
  readonly size: string;
  readonly used: Usage;
  readonly bounds?: readonly Bound[];
}

async function within<Found>(world: WorldSize, measure: (bench: Bench) => Promise<Found>): Promise<Found> {
  const bench = await openBench(world);
  try {
    return await measure(bench);
  } finally {
    bench.close();
  }
}

function written<Found>(bench: Bench, write: (connection: Database.Database) => Found): Found {
  const connection = new Database(bench.db);
  try {
    connection.pragma('synchronous = OFF');
    return write(connection);
  } finally {
    connection.close();
  }
}

/** The median of each figure over a few runs. */
async function medianOf(run: () => Promise<Usage>, runs = RUNS): Promise<Usage> {
  const all: Usage[] = [];
  for (let i = 0; i < runs; i++) all.push(await run());
  const fields = Object.keys(all[0] ?? {}) as (keyof Usage)[];
  const medians = fields.map((field) => [field, median(all.map((used) => used[field]))]);
  return Object.fromEntries(medians) as Record<keyof Usage, number>;
}

/** Runs of ten environments at even intervals up to now; the oldest exceed the retention time. */
const LOGGED_DAYS = 180;
const FILL_LOG = `
  insert into sync_runs (cycle_id, status, server_time, started_at, ended_at)
    with recursive n (i) as (select @runs union all select i - 1 from n where i > 1)
    select 1, 'done', at, at, at from
      (select strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', format('-%d seconds', i * @everySeconds)) at from n)`;
const FILL_STREAM_LOG = `
  insert into sync_stream_runs select r.id, e.value, s.value, 'feed', 'increment', 'done', 2, 2, 0, 0, 0, 0, r.started_at, r.ended_at, null
    from sync_runs r
    cross join json_each('["bench","b","c","d","e","f","g","h","i","j"]') e
    cross join (select distinct stream value from sync_checkpoints) s
    where r.id > @last`;

function fillLog(connection: Database.Database, rows: number): void {
  const streams = connection.prepare('select count(distinct stream) from sync_checkpoints').pluck().get() as number;
  const runs = Math.round(rows / (10 * streams));
  const last = connection.prepare('select max(id) from sync_runs').pluck().get();
  connection.prepare(FILL_LOG).run({ runs, everySeconds: Math.floor((LOGGED_DAYS * 86_400) / runs) });
  connection.prepare(FILL_STREAM_LOG).run({ last });
}

async function runLog(): Promise<Line[]> {
  const measured = async (rows: number) =>
    within({ thousands: 0 }, async (bench) => {
      await bench.run(SYNC);
      written(bench, (connection) => fillLog(connection, rows));
      return { idle: await medianOf(() => bench.run(SYNC)), status: await medianOf(() => bench.run(STATUS)) };
    });
  const few = await measured(5000);
  const many = await measured(5_000_000);
  const against = (a: Usage, b: Usage): Bound[] => [
    { what: 'CPU of that with 5 thousand', found: a.cpuSeconds / b.cpuSeconds, most: 1.3 },
    { what: 'written of that', found: a.writtenMiB / b.writtenMiB, most: 2 },
  ];
  return [
    { what: '`sync`, idle', size: '5 thousand rows of run log', used: few.idle },
    { what: '`sync`, idle', size: '5 million', used: many.idle, bounds: against(many.idle, few.idle) },
    { what: '`status`', size: '5 thousand rows of run log', used: few.status },
    { what: '`status`', size: '5 million', used: many.status, bounds: against(many.status, few.status).slice(0, 1) },
  ];
}

/** As if an environment had been read halfway in an unfinished round. */
const STAGE = `
  with recursive n (i) as (select 1 union all select i + 1 from n where i < 500000)
  insert into column_lineage_staged (env_id, upstream_column_id, downstream_column_id, read_number)
    select 'other', 'upstream ' || i, 'downstream ' || i, 1 from n`;

async function environments(): Promise<Line[]> {
  const [FEW, MANY] = [200, 2000];
  const measured = async (count: number) =>
    within({ thousands: 0, environments: count }, async (bench) => {
      const first = await bench.run(SYNC);
      const idle = await medianOf(() => bench.run(SYNC), count === MANY ? 1 : RUNS);
      if (count !== FEW) return { first, idle };
      written(bench, (connection) => connection.exec(STAGE));
      return { first, idle, besideStaged: await medianOf(() => bench.run(SYNC)) };
    });
  const [one, few, many] = [await measured(1), await measured(FEW), await measured(MANY)];
  const each = (of: 'first' | 'idle', field: keyof Usage): number =>
    (many[of][field] - one[of][field]) / (MANY - 1) / ((few[of][field] - one[of][field]) / (FEW - 1));
  const bounds = (of: 'first' | 'idle'): Bound[] => [
    { what: `CPU per environment of that with ${FEW}`, found: each(of, 'cpuSeconds'), most: 1.3 },
    { what: 'written per environment of that', found: each(of, 'writtenMiB'), most: 1.3 },
    { what: 'requests per environment of that', found: each(of, 'requests'), most: 1 },
    {
      what: 'KiB of memory per environment',
      found: ((many[of].peakMiB - few[of].peakMiB) / (MANY - FEW)) * 1024,
      most: 56,
    },
  ];
  const lines = (['first', 'idle'] as const).flatMap((of) => {
    const what = of === 'first' ? '`sync`, the first' : '`sync`, idle';
    return [
      { what, size: '1 environment', used: one[of] },
      { what, size: `${FEW} environments`, used: few[of] },
      { what, size: `${MANY}`, used: many[of], bounds: bounds(of) },
    ];
  });
  const beside = few.besideStaged ?? few.idle;
  const against = { what: 'CPU of that without', found: beside.cpuSeconds / few.idle.cpuSeconds, most: 1.3 };
  const size = `${FEW} environments, and one with 500 thousand edges gathered`;
  return [...lines, { what: '`sync`, idle', size, used: beside, bounds: [against] }];
}

/** As if every history had just been read. */
const READ_ALL = `insert or replace into test_readings (env_id, test_id, read_at, mirrored_at)
  select t.env_id, t.id, m.mirrored_at, m.mirrored_at from tests t join mirror_environments m on m.env_id = t.env_id`;

async function histories(): Promise<Line[]> {
  const sizes = [2000, 20_000, 200_000] as const;
  const measured = async (tests: number) =>
    within({ thousands: 0, tests }, async (bench) => {
      await bench.run(SYNC);
      written(bench, (connection) => connection.exec(READ_ALL));
      const runs = tests === sizes[2] ? 1 : RUNS;
      const idle = await medianOf(() => bench.run([...SYNC, '--history']), runs);
      const changed = await medianOf(async () => {
        await bench.change();
        return bench.run([...SYNC, '--history']);
      }, runs);
      return { idle, changed };
    });
  const found = [await measured(sizes[0]), await measured(sizes[1]), await measured(sizes[2])] as const;
  const each = (of: 'idle' | 'changed', [a, b]: readonly [0 | 1, 1 | 2]): number =>
    (found[b][of].cpuSeconds - found[a][of].cpuSeconds) / (sizes[b] - sizes[a]);
  const [few, some, many] = found;
  /** Requests beyond one per test with news and one per 2000 latest executions. */
  const beyond = ({ requests }: Usage, tests: number): number => requests - tests / 2000 - tests / 100;
  return (['idle', 'changed'] as const).flatMap((of) => {
    const what = of === 'idle' ? '`sync --history`, idle' : '`sync --history`, 1 % have a new execution';
    const bounds: Bound[] = [
      { what: 'CPU per test of that between 2 and 20 thousand', found: each(of, [1, 2]) / each(of, [0, 1]), most: 1.3 },
      { what: 'peak of that with 20 thousand', found: many[of].peakMiB / some[of].peakMiB, most: 1.3 },
    ];
    const read = {
      what: 'requests beyond pages and news, against 2 thousand',
      found: beyond(many[of], sizes[2]) - beyond(few[of], sizes[0]),
      most: 0,
    };
    return [
      { what, size: '2 thousand tests', used: few[of] },
      { what, size: '20 thousand', used: some[of] },
      { what, size: '200 thousand', used: many[of], bounds: of === 'changed' ? [...bounds, read] : bounds },
    ];
  });
}

const logMiB = (bench: Bench): number => (existsSync(`${bench.db}-wal`) ? statSync(`${bench.db}-wal`).size / MIB : 0);

async function openReader(): Promise<Line[]> {
  const thousands = 400;
  return within({ thousands }, async (bench) => {
    const free = await bench.run(SYNC);
    bench.clear();
    await bench.run([...SYNC, '--stream', 'assets']);
    const reader = new Database(bench.db, { readonly: true });
    reader.exec('begin');
    reader.prepare('select count(*) from assets').get();
    const used = await bench.run(SYNC);
    const grown = logMiB(bench);
    reader.exec('commit');
    const idle = await bench.run(SYNC);
    const after = logMiB(bench);
    reader.close();
    const { fileMiB } = bench.size();
    const size = `${thousands} thousand rows`;
    return [
      { what: '`sync`, the first, no reader', size, used: free },
      {
        what: '`sync`, the first, a reader stays in one transaction',
        size,
        used,
        bounds: [
          { what: 'log against the file it becomes', found: grown / fileMiB, most: 4 },
          { what: 'written of that without', found: used.writtenMiB / free.writtenMiB, most: 1.3 },
        ],
      },
      {
        what: '`sync`, idle, the reader is connected still',
        size,
        used: idle,
        bounds: [{ what: 'MiB of log', found: after, most: 16 }],
      },
    ];
  });
}

/** Whether edges are visible, and whether their first scan has ended: readers must see both or neither (R16). */
const LOOK = `select exists (select 1 from column_lineage) edges,
  exists (select 1 from sync_checkpoints where stream = 'column_lineage' and scan_ended_at is not null) ended`;

/** Polls until a run has ended. */
async function watch(bench: Bench, run: Promise<Usage>) {
  const reader = new Database(bench.db, { readonly: true });
  const look = reader.prepare(LOOK);
  const seen = { looks: 0, mixtures: 0, longestSeconds: 0, logMiB: 0, ended: false };
  const ended = run.finally(() => {
    seen.ended = true;
  });
  while (!seen.ended) {
    const before = performance.now();
    const { edges, ended: isEnded } = look.get() as { edges: number; ended: number };
    seen.longestSeconds = Math.max(seen.longestSeconds, (performance.now() - before) / 1000);
    seen.looks += 1;
    if (edges !== isEnded) seen.mixtures += 1;
    seen.logMiB = Math.max(seen.logMiB, logMiB(bench));
    await pause(5);
  }
  reader.close();
  return { used: await ended, seen };
}

async function settling(): Promise<Line[]> {
  // The lineage of these columns has 500 thousand edges.
  return within({ thousands: 1325 }, async (bench) => {
    await bench.run([...SYNC, '--stream', 'columns']);
    const { used, seen } = await watch(bench, bench.run([...SYNC, '--stream', 'column_lineage']));
    const { fileMiB } = bench.size();
    return [
      {
        what: '`sync`, the first scan of column_lineage, asked by another process',
        size: '500 thousand edges',
        used,
        bounds: [
          { what: `of ${seen.looks} answers wrong`, found: seen.mixtures, most: 0 },
          { what: 'the longest answer, of the run', found: seen.longestSeconds / used.wallSeconds, most: 0.05 },
          { what: 'log against the file', found: seen.logMiB / fileMiB, most: 1 },
        ],
      },
    ];
  });
}

/** The cases by their command line argument. */
export const CASES = {
  log: { title: 'The run log', measure: runLog },
  environments: { title: 'Environments', measure: environments },
  histories: { title: 'Tests with histories', measure: histories },
  reader: { title: 'A long-lived reader', measure: openReader },
  settling: { title: 'Readers while lineage is applied', measure: settling },
};
