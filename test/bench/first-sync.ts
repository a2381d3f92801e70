import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * A first sync against the fastest bare loop we know, in turn, as whole processes. Prints a table: medians of CPU seconds
 * (user and system), wall seconds, peak memory and requests, and the ratio of CPU. Arguments: how often (default 3), then
 * thousands of rows (default 100 and 1000). Needs GNU time at /usr/bin/time.
 */
const [rounds = 3, ...sizes] = process.argv.slice(2).map(Number);
const THOUSANDS_AT_SCALE_1 = 737;

interface Usage {
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly peakMiB: number;
  readonly requests: number;
}

const folder = mkdtempSync(join(tmpdir(), 'obsync-bench-'));

async function serve(thousands: number): Promise<{ server: ChildProcess; baseUrl: string }> {
  const args = ['--max-old-space-size=8192', 'test/bench/page-server.ts', String(thousands / THOUSANDS_AT_SCALE_1)];
  const server = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const port = await new Promise<string>((resolve) => createInterface({ input: server.stdout }).once('line', resolve));
  return { server, baseUrl: `http://127.0.0.1:${port}` };
}

function measure(baseUrl: string, args: readonly string[]): Usage {
  const db = join(folder, 'mirror.db');
  const env = { ...process.env, OBSYNC_BASE_URL: baseUrl, OBSYNC_TOKEN: 'bench', OBSYNC_DB: db };
  const command = ['-f', 'USAGE %U %S %e %M', process.execPath, ...args.map((arg) => (arg === 'DB' ? db : arg))];
  const result = spawnSync('/usr/bin/time', command, { env, encoding: 'utf8' });
  const [, user, system, wall, kib] = /USAGE (\S+) (\S+) (\S+) (\d+)/.exec(result.stderr) ?? [];
  if (result.status !== 0 || kib === undefined) throw new Error(`${args[0]} failed: ${result.stderr.slice(-500)}`);
  for (const suffix of ['', '-wal', '-shm', '.lock']) rmSync(db + suffix, { force: true });
  const { requests } = JSON.parse(result.stdout) as { requests: number };
  return {
    cpuSeconds: Number(user) + Number(system),
    wallSeconds: Number(wall),
    peakMiB: Number(kib) / 1024,
    requests,
  };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

function line(rows: string, program: string, usages: readonly Usage[], ratio: string): string {
  const of = (field: keyof Usage): number => median(usages.map((usage) => usage[field]));
  const figures = [of('cpuSeconds').toFixed(1), of('wallSeconds').toFixed(1), of('peakMiB').toFixed(0), of('requests')];
  return `| ${[rows, program, ...figures, ratio].join(' | ')} |`;
}

console.log(`${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}\n`);
console.log('| rows | program | CPU s | wall s | peak MiB | requests | CPU ratio |\n|---|---|---|---|---|---|---|');
for (const thousands of sizes.length > 0 ? sizes : [100, 1000]) {
  const { server, baseUrl } = await serve(thousands);
  const runs = Array.from({ length: rounds }, () => ({
    bare: measure(baseUrl, ['test/bench/bare-loop.ts', baseUrl, 'DB']),
    sync: measure(baseUrl, ['dist/main.js', 'sync', '--json', '--log-level', 'error']),
  }));
  const ratio = median(runs.map(({ bare, sync }) => sync.cpuSeconds / bare.cpuSeconds)).toFixed(2);
  console.log(
    line(
      `${thousands} thousand`,
      'bare loop',
      runs.map((run) => run.bare),
      '',
    ),
  );
  console.log(
    line(
      `${thousands} thousand`,
      '`obsync sync`',
      runs.map((run) => run.sync),
      ratio,
    ),
  );
  server.stdin?.end();
}
rmSync(folder, { recursive: true });
