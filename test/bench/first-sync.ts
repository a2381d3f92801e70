import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * A first sync against the fastest bare loop we know, in turn, as whole processes: CPU seconds (user and system), peak
 * memory, and their ratio. Arguments: scale (1 is 727 thousand rows) and rounds. Needs GNU time at /usr/bin/time.
 */
const scale = process.argv[2] ?? '1';
const rounds = Number(process.argv[3] ?? 3);
const folder = mkdtempSync(join(tmpdir(), 'obsync-bench-'));
const server = spawn(process.execPath, ['--max-old-space-size=8192', 'test/bench/page-server.ts', scale], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const port = await new Promise<string>((resolve) => createInterface({ input: server.stdout }).once('line', resolve));
const baseUrl = `http://127.0.0.1:${port}`;

interface Usage {
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly peakMiB: number;
}

function measure(name: string, args: readonly string[]): Usage {
  const db = join(folder, `${name}-${Math.random()}.db`);
  const env = { ...process.env, OBSYNC_BASE_URL: baseUrl, OBSYNC_TOKEN: 'bench', OBSYNC_DB: db };
  const result = spawnSync(
    '/usr/bin/time',
    ['-f', 'USAGE %U %S %e %M', process.execPath, ...args.map((arg) => (arg === 'DB' ? db : arg))],
    { env, encoding: 'utf8' },
  );
  const [, user, system, wall, kib] = /USAGE (\S+) (\S+) (\S+) (\d+)/.exec(result.stderr) ?? [];
  if (result.status !== 0 || kib === undefined) throw new Error(`${name} failed: ${result.stderr.slice(-500)}`);
  rmSync(db, { force: true });
  return { cpuSeconds: Number(user) + Number(system), wallSeconds: Number(wall), peakMiB: Number(kib) / 1024 };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
const runs = Array.from({ length: rounds }, () => ({
  bare: measure('bare', ['test/bench/bare-loop.ts', baseUrl, 'DB']),
  sync: measure('sync', ['dist/main.js', 'sync']),
}));
for (const { bare, sync } of runs) console.log({ bare, sync, ratio: (sync.cpuSeconds / bare.cpuSeconds).toFixed(2) });
console.log(
  `median CPU ratio ${median(runs.map(({ bare, sync }) => sync.cpuSeconds / bare.cpuSeconds)).toFixed(2)}, peak memory ${Math.max(...runs.map(({ sync }) => sync.peakMiB)).toFixed(0)} MiB`,
);
server.stdin.end();
rmSync(folder, { recursive: true });
