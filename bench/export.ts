import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import type { ExportReport } from '../src/api/export-mirror.ts';
import { closeWritten } from '../src/destination/sqlite/close.ts';
import { openForWriting } from '../src/destination/sqlite/open.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../src/export/formats.ts';
import { addExecutions, changeColumns, fillMirror, ROW_COUNT, widenAssets } from './export-mirror.ts';
import { keepFigures, MACHINE, print, verdict } from './figures.ts';
import type { Usage } from './measure.ts';

/**
 * The CPU time and memory of an export, and how much of it is rewritten. Prints a table, and saves it in
 * `docs/benchmarks.md` with `--keep`; exits 1 if a bound is exceeded.
 */
const MAX_MIB = 256;
const MAX_PERCENT = 3;
/** Views with a row for each asset, test or incident. */
const VIEWS = 'test_coverage,coverage_by_impact,test_incidents,test_runs_daily,stale_assets,test_owners';
const WIDE_ROWS = 300;
const COMPILED = '.compiled-bench';

const folder = mkdtempSync(join(tmpdir(), 'obsync-export-'));
const [db, usageFile] = [join(folder, 'mirror.db'), join(folder, 'usage.json')];
buildSync({ entryPoints: ['bench/note-usage.ts'], outdir: COMPILED, platform: 'node', format: 'esm' });

function change(write: (connection: ReturnType<typeof openForWriting>['connection']) => void): void {
  const mirror = openForWriting(db);
  write(mirror.connection);
  closeWritten(mirror);
}

type Measured = Pick<Usage, 'cpuSeconds' | 'wallSeconds' | 'peakMiB'> & ExportReport;

function exportOnce(format: ExportFormat, ...args: readonly string[]): Measured {
  const call = ['--import', `./${COMPILED}/note-usage.js`, 'dist/main.js', 'export', '--db', db, '--json'];
  const to = join(folder, [format, ...args].join(''));
  const { status, stdout, stderr } = spawnSync(process.execPath, [...call, '--to', to, '--format', format, ...args], {
    env: { ...process.env, BENCH_USAGE: usageFile },
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error(stderr.slice(-500));
  return { ...(JSON.parse(stdout) as ExportReport), ...(JSON.parse(readFileSync(usageFile, 'utf8')) as Usage) };
}

const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

/** @param percent the most of the bytes that may be written */
function report(what: string, measured: Measured, percent: number): void {
  const { cpuSeconds, wallSeconds, peakMiB, bytes, bytes_written } = measured;
  const share = (100 * bytes_written) / bytes;
  const holds = peakMiB <= MAX_MIB && share <= percent;
  const spent = `${cpuSeconds.toFixed(1)} | ${wallSeconds.toFixed(1)} | ${peakMiB.toFixed(0)}`;
  print(`| ${what} | ${spent} | ${mib(bytes)} | ${mib(bytes_written)} | ${share.toFixed(1)} % | ${verdict(holds)} |`);
}

change(fillMirror);
print(`${MACHINE}; a mirror of ${ROW_COUNT} rows. Bounds: a peak of ${MAX_MIB} MiB, nothing written if nothing changed, and ${MAX_PERCENT} % of the
bytes of a table after 1 % of its rows are new.

| what | CPU s | wall s | peak MiB | MiB | written MiB | share | holds |
|---|---|---|---|---|---|---|---|`);
for (const format of EXPORT_FORMATS) {
  report(`${format}, the first`, exportOnce(format), 100);
  report(`${format}, nothing changed`, exportOnce(format), 0);
}
report('parquet of views, the first', exportOnce('parquet', '--table', VIEWS), 100);
change(addExecutions);
for (const format of EXPORT_FORMATS) {
  const measured = exportOnce(format);
  const ofTable = measured.tables.find(({ table }) => table === 'test_executions');
  report(`${format}, 1 % new executions`, { ...measured, ...ofTable }, MAX_PERCENT);
}
for (const where of ['neighbouring', 'spread'] as const) {
  change((connection) => changeColumns(connection, where));
  for (const format of ['parquet', 'ndjson'] as const) {
    const measured = exportOnce(format);
    const ofTable = measured.tables.find(({ table }) => table === 'columns');
    report(`${format}, 1 % changed columns, ${where}`, { ...measured, ...ofTable }, 100);
  }
}
change((connection) => widenAssets(connection, WIDE_ROWS));
for (const format of EXPORT_FORMATS)
  report(`${format}, ${WIDE_ROWS} texts of a megabyte`, exportOnce(format, '--table', 'assets'), 100);
rmSync(folder, { recursive: true });
keepFigures('## Exports');
