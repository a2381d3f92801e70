import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** Preloaded into a server that is measured: tells, when asked, for how long its main thread was held at most since the last time. */
if (isMainThread && process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  process.on('message', () => {
    process.send?.(delay.max / 1e6);
    delay.reset();
    // Only from the first asking on: it costs a little at every millisecond.
    delay.enable();
  });
  process.channel?.unref();
}
