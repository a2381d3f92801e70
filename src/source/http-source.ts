import { SyncError } from '../core/errors.ts';
import type { Source } from '../core/ports/source.ts';
import type { AccountQuota } from '../core/quota/quota.ts';
import { fetchRequestOf, type HttpSourceOptions, SourceConnection } from './connection.ts';
import { decodeEnvelope, decodeMatchedCount } from './envelope.ts';
import { fetchEnvironments } from './environments.ts';
import { fetchWhole } from './fetch-whole.ts';

/** How long a request in flight may continue after a signal. The whole stop may take five seconds (R27). */
const GRACE_MS = 3000;

/**
 * The read API of one account over HTTP.
 * @throws SyncError `usage` for a token that a header cannot carry
 */
export function createHttpSource(options: HttpSourceOptions): Source {
  const connection = new SourceConnection(options);
  const { limiter } = connection;
  const onSignal = () => {
    limiter.stop(new SyncError('signal', 'Stopped by a signal: the next run carries on.'));
    options.sleep(GRACE_MS, connection.closed.signal).then(
      () => connection.inFlightAbort.abort(),
      () => {},
    );
  };
  options.signal.addEventListener('abort', onSignal, { once: true });
  if (options.signal.aborted) onSignal();
  return {
    environments: () => fetchEnvironments(connection),
    page(request, onRequest) {
      return fetchWhole(connection, { ...fetchRequestOf(connection, request, decodeEnvelope), onRequest });
    },
    matchedCount(request, onRequest) {
      const counted = fetchRequestOf(connection, { ...request, cursor: null }, decodeMatchedCount);
      return fetchWhole(connection, { ...counted, onRequest });
    },
    times: () => connection.times,
    requests: () => limiter.requests,
    quota: () => quotaOf(connection),
    resumeQuota({ remaining, resetSeconds }) {
      // The rest of the window is computed by the machine's clock, which may be wrong. It may delay a run, but not end
      // it (R1).
      if (remaining === 0 && resetSeconds * 1000 > options.maxWaitMs) return;
      limiter.quota.resumed = { remaining, resetAtMs: options.clock.nowMs() + resetSeconds * 1000 };
    },
    async close() {
      options.signal.removeEventListener('abort', onSignal);
      connection.closed.abort();
      limiter.stop(new SyncError('run', 'The source is closed.'));
      connection.inFlightAbort.abort();
      await connection.http.dispatcher.destroy();
      await limiter.close();
    },
  };
}

function quotaOf({ limiter: { quota }, limit, windowSeconds }: SourceConnection): AccountQuota | null {
  const { remaining, resetAtMs } = quota.window;
  if (remaining === null) return null;
  const resetSeconds = Math.max(0, Math.ceil((resetAtMs - quota.nowMs()) / 1000));
  return { limit, remaining, resetSeconds, windowSeconds };
}
