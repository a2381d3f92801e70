import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** Preloaded into a measured server: reports how long its main thread was blocked at most since the last request. */
if (isMainThread && process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  process.on('message', () => {
    process.send?.(delay.max / 1e6);
    delay.reset();
    // Enabled by the first request, because it costs a little every millisecond.
    delay.enable();
  });
  process.channel?.unref();
}
