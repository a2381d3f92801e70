import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Preloaded into a measured process: writes down its usage at exit, including its threads. */
if (isMainThread) {
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    const io = readFileSync('/proc/self/io', 'utf8');
    const usage = {
      cpuSeconds: (user + system) / 1e6,
      wallSeconds: performance.now() / 1000,
      peakMiB: process.resourceUsage().maxRSS / 1024,
      writtenMiB: Number(/wchar: (\d+)/.exec(io)?.[1]) / 2 ** 20,
    };
    writeFileSync(process.env['BENCH_USAGE'] ?? '/dev/null', JSON.stringify(usage));
  });
}
