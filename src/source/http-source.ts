import { SyncError } from '../core/errors.ts';
import type { PageRequest, Source } from '../core/ports/source.ts';
import type { AccountQuota } from '../core/quota/quota.ts';
import { secretOf } from './classify.ts';
import { connect, type HttpSourceOptions, type SourceConnection } from './connection.ts';
import { type BodyDecoder, decodeMatchedCount, decodePage } from './envelope.ts';
import { fetchEnvironments } from './environments.ts';
import { fetchWhole } from './fetch-whole.ts';
import { stop } from './limiter-state.ts';
import { quotaNowMs } from './quota-client.ts';
import { closeQuota } from './rate-limiter.ts';
import { endpointPath, pageTarget } from './target.ts';

export type { HttpSourceOptions } from './connection.ts';

/** How long a request in flight may go on after a signal. The whole stop may take five seconds (R27). */
const GRACE_MS = 3000;

/** The read API of one account over HTTP. Throws `SyncError` `usage` for a token that cannot stand in a header. */
export function createHttpSource(options: HttpSourceOptions): Source {
  const connection = connect(options);
  const { gate } = connection;
  const onSignal = () => stopSoon(connection);
  options.signal.addEventListener('abort', onSignal, { once: true });
  if (options.signal.aborted) onSignal();
  return {
    environments: () => fetchEnvironments(connection),
    page: (request, onRequest) => fetchRequested(connection, request, decodePage, onRequest),
    matchedCount: (request, onRequest) =>
      fetchRequested(connection, { ...request, cursor: null }, decodeMatchedCount, onRequest),
    times: () => connection.times,
    requests: () => gate.requests,
    quota: () => quotaOf(connection),
    resumeQuota({ remaining, resetSeconds }) {
      // The rest of the window is computed by the machine's clock, which may be wrong. It may delay a run, but not end it (R1).
      if (remaining === 0 && resetSeconds * 1000 > options.maxWaitMs) return;
      gate.quota.resumed = { remaining, resetAtMs: options.clock.nowMs() + resetSeconds * 1000 };
    },
    async close() {
      options.signal.removeEventListener('abort', onSignal);
      connection.closed.abort();
      stop(gate, new SyncError('run', 'The source is closed.'));
      await connection.line.pool.destroy();
      await closeQuota(gate);
    },
  };
}

function fetchRequested<T>(
  sourceConnection: SourceConnection,
  request: PageRequest,
  bodyDecoder: BodyDecoder<T>,
  onRequest: (() => void) | undefined,
): Promise<T> {
  const { path, failedTries = 0 } = request;
  const asked = { path: endpointPath(path), ...secretOf(sourceConnection.options), advice: null };
  return fetchWhole(sourceConnection, {
    path,
    target: pageTarget(request),
    asked,
    decode: bodyDecoder,
    onRequest,
    failedTries,
  });
}

function quotaOf({ gate: { quota }, limit, windowSeconds }: SourceConnection): AccountQuota | null {
  const { remaining, resetAtMs } = quota.window;
  if (remaining === null) return null;
  const resetSeconds = Math.max(0, Math.ceil((resetAtMs - quotaNowMs(quota)) / 1000));
  return { limit, remaining, resetSeconds, windowSeconds };
}

function stopSoon({ gate, options, cut, closed }: SourceConnection): void {
  stop(gate, new SyncError('signal', 'Stopped by a signal: the next run carries on.'));
  options.sleep(GRACE_MS, closed.signal).then(
    () => cut.abort(),
    () => {},
  );
}
