import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeWritten } from '../src/destination/sqlite/close.ts';
import { type MirrorFile, openForReading, openForWriting } from '../src/destination/sqlite/open.ts';
import { keepFigures, MACHINE, median, print, verdict } from './figures.ts';
import { fillMirror, idOf, SIZE } from './views-mirror.ts';

/**
 * How long the views that a dashboard waits for take in a large mirror. Prints a table, and saves it in
 * `docs/benchmarks.md` with `--keep`; exits 1 if a bound is exceeded. The bound is on CPU time, which does not depend
 * on other load.
 */
const RUNS = 5;
const TOP = SIZE.assets - 1;
/** A source with a test that fails now and then. */
const TESTED = idOf('asset', 2400);

const BY_DIRECT_CONSUMERS = `select asset_id, test_count, direct_downstream_count from coverage_by_impact
  order by direct_downstream_count desc limit 20`;

/** The queries and the CPU time in ms that each may take; null for no bound. */
const CASES: readonly [what: string, sql: string, maxMs: number | null][] = [
  ['`lineage_upstream` of a top-most asset', `select * from lineage_upstream where ${of(idOf('asset', TOP))}`, 100],
  ['`lineage_downstream` of a source', `select * from lineage_downstream where ${of(idOf('asset', 0))}`, 100],
  ['`test_incidents` of one asset', `select * from test_incidents where ${of(TESTED)}`, 50],
  ['`test_incidents`, all', 'select * from test_incidents', 1000],
  ['`test_incidents_by_owner`', 'select * from test_incidents_by_owner', 1000],
  ['`failing_test_impact` of a failing test', `select * from failing_test_impact where test_id = '@failing'`, 200],
  ['`stale_assets`', 'select * from stale_assets', 500],
  ['`test_runs_daily`', 'select * from test_runs_daily', null],
  ['`test_runs_daily_by_owner`', 'select * from test_runs_daily_by_owner', null],
  ['`coverage_by_impact`, by direct consumers', BY_DIRECT_CONSUMERS, null],
];

function of(assetId: string): string {
  return `env_id = 'env-1' and asset_id = '${assetId}'`;
}

function measure({ connection }: MirrorFile, sql: string): { rows: number; cpuMs: number; wallMs: number } {
  const statement = connection.prepare(sql).raw();
  let rows = 0;
  const times = Array.from({ length: RUNS }, () => {
    const [cpu, start] = [process.cpuUsage(), performance.now()];
    rows = statement.all().length;
    const used = process.cpuUsage(cpu);
    return { cpuMs: (used.user + used.system) / 1000, wallMs: performance.now() - start };
  });
  return { rows, cpuMs: median(times.map(({ cpuMs }) => cpuMs)), wallMs: median(times.map(({ wallMs }) => wallMs)) };
}

const folder = mkdtempSync(join(tmpdir(), 'obsync-views-'));
const path = join(folder, 'mirror.db');
const written = openForWriting(path);
fillMirror(written.connection);
closeWritten(written);
const mirror = openForReading(path);
const failing = String(mirror.connection.prepare('select test_id from failing_tests limit 1').pluck().get());
print(`${MACHINE}; medians of ${RUNS}; a mirror of ${SIZE.assets} assets, ${SIZE.edges} edges between them, ${SIZE.tests} tests and
${SIZE.tests * SIZE.runsPerTest} runs. The bound limits CPU time.

| what | rows | CPU ms | ms | at most | holds |
|---|---|---|---|---|---|`);
for (const [what, sql, maxMs] of CASES) {
  const { rows, cpuMs, wallMs } = measure(mirror, sql.replace('@failing', failing));
  const holds = verdict(maxMs === null ? null : cpuMs <= maxMs);
  print(`| ${what} | ${rows} | ${cpuMs.toFixed(0)} | ${wallMs.toFixed(0)} | ${maxMs ?? ''} | ${holds} |`);
}
mirror.connection.close();
rmSync(folder, { recursive: true });
keepFigures('## Views');
