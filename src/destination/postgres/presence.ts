import { translateErrors } from '../../core/errors.ts';
import { HEARTBEAT_MS, LEASE_MS } from '../../core/schedule/lease.ts';
import type { Instant } from '../../core/time/instant.ts';
import type { PostgresAddress } from './address.ts';
import { destroyConnection, processIdOf } from './driver-internals.ts';
import { identifyBackend, type LeaseOwner, releaseLeases, renewLease, takeLeases, type WriterLease } from './leases.ts';
import { driverError, isTransient } from './lost-connection.ts';
import { closeClient, openClient } from './open-client.ts';
import { connectionOf } from './pool.ts';
import { type RetryWaiting, withRetry } from './retry.ts';
import { inTransaction, type PostgresDatabase } from './transaction.ts';

type LastingConnection = Awaited<ReturnType<typeof openLastingConnection>>;

/** A connection that stays open. When it ends, others know at once that its process is gone. */
export async function openLastingConnection({ schema, ...address }: PostgresAddress) {
  const client = await translateErrors(openClient(address), driverError);
  let act = (): void => {};
  client.once('end', () => act());
  const connection = connectionOf(client);
  const transaction: PostgresDatabase['transaction'] = (work, use) => inTransaction(connection, { schema, use }, work);
  return {
    processId: processIdOf(client),
    transaction,
    /** Calls a function when the connection has ended, unless it was closed here. */
    onEnd(given: () => void): void {
      act = given;
    },
    /** Drops the connection without notifying the server, which may no longer respond. */
    destroy: () => destroyConnection(client),
    async close(): Promise<void> {
      act = () => {};
      await closeClient(client);
    },
  };
}

export interface PresencePorts extends RetryWaiting {
  /** Random, so that no two processes share it. */
  readonly owner: string;
  connect(): Promise<LastingConnection>;
  /** A monotonic clock. */
  nowMs(): number;
  /** Calls a function once after a delay, unless the returned function is called first. */
  after(delayMs: number, act: () => void): () => void;
  /** Called when this process has sent no heartbeat for so long that others may take its environments. */
  onLapsed(): void;
}

/** The connection that proves that a process is alive. `onEnd` is called when it has ended, unless it was dropped. */
function keepConnection(connect: PresencePorts['connect'], onEnd: () => void) {
  let connection: LastingConnection | null = null;
  // A connection that cannot be identified is dropped too.
  let opening: LastingConnection | null = null;
  let backend: string | null = null;
  return {
    backend: () => backend,
    current: () => connection,
    /** Returns the open connection, or opens a new one. */
    async connected(): Promise<LastingConnection> {
      if (connection !== null) return connection;
      const fresh = await connect();
      opening = fresh;
      backend = await fresh
        .transaction((each) => identifyBackend(each, fresh.processId), 'read-and-note')
        .catch((error: unknown) => {
          fresh.destroy();
          throw error;
        });
      [connection, opening] = [fresh, null];
      fresh.onEnd(() => {
        if (connection !== fresh) return;
        connection = null;
        onEnd();
      });
      return fresh;
    },
    /** Drops the connection because it does not work. */
    forget() {
      const broken = [connection, opening];
      [connection, opening] = [null, null];
      for (const each of broken) each?.destroy();
    },
    async close() {
      const open = connection;
      connection = null;
      await open?.close().catch(() => {});
    },
  };
}

const NOTHING = (): void => {};

/** How soon a failed heartbeat is retried, in milliseconds. */
const RETRY_MS = 1000;

/** How long to wait for the server at the end: a run that is stopped has five seconds in all (R27). */
const RELEASE_MS = 1500;

/** A failed heartbeat is not an error: it is retried soon, and a commit shows whether the lease is lost. */
function createHeartbeat(
  kept: ReturnType<typeof keepConnection>,
  { after, onLapsed }: Pick<PresencePorts, 'after' | 'onLapsed'>,
  renewOn: (connection: LastingConnection) => Promise<unknown>,
) {
  let beating: Promise<unknown> = Promise.resolve();
  let [stopNext, stopLapse] = [NOTHING, NOTHING];
  let isStopped = false;
  const beatAfter = (delayMs: number): void => {
    stopNext();
    const act = (): void => {
      beating = beating.then(beat);
    };
    stopNext = isStopped ? NOTHING : after(delayMs, act);
  };
  const noteRenewal = (): void => {
    stopLapse();
    stopLapse = isStopped ? NOTHING : after(LEASE_MS, onLapsed);
    beatAfter(HEARTBEAT_MS);
  };
  const beat = async (): Promise<void> => {
    // Gives up on a server that does not respond.
    const stopWaiting = after(HEARTBEAT_MS, kept.forget);
    try {
      await renewOn(await kept.connected());
      noteRenewal();
    } catch {
      kept.forget();
      beatAfter(RETRY_MS);
    } finally {
      stopWaiting();
    }
  };
  return {
    /** Sends the next heartbeat after this time, and then continues periodically. */
    beatAfter,
    /** Call this when something else has renewed the lease. */
    noteRenewal,
    async stop() {
      isStopped = true;
      stopNext();
      await beating;
      stopLapse();
    },
  };
}

/**
 * This process as others see it: it is alive and writes environments (R26). Sends nothing to the database until the
 * first environment is to be held.
 */
export function createPresence({ owner, connect, nowMs, after, onLapsed, ...waiting }: PresencePorts) {
  const leases = new Map<string, WriterLease>();
  const leaseOwner = (): LeaseOwner => ({ owner, backend: kept.backend() });
  // Another process may take the environments once the connection has ended, so it is reopened at once.
  const kept = keepConnection(connect, () => heartbeat.beatAfter(0));
  const heartbeat = createHeartbeat(kept, { after, onLapsed }, (connection) =>
    connection.transaction((inside) => renewLease(inside, leaseOwner())),
  );
  const forgetLost = async (error: unknown): Promise<never> => {
    if (isTransient(error)) kept.forget();
    throw error;
  };
  return {
    /** The leases by environment. */
    leases: leases as ReadonlyMap<string, WriterLease>,
    /** Whether the connection reaches the server itself, not a pooler. */
    isDirect: () => kept.backend() !== null,
    /** @throws SyncError `locked` if another live process writes one of them */
    async hold(envIds: readonly string[], mirroredAt: Instant): Promise<void> {
      const begunMs = nowMs();
      // Retrying is safe: taking a lease twice has no further effect.
      const taken = await withRetry(waiting, async () => {
        const each = await kept.connected();
        const taking = each.transaction((inside) => takeLeases(inside, leaseOwner(), { envIds, mirroredAt }));
        return taking.catch(forgetLost);
      });
      for (const [envId, lease] of taken) leases.set(envId, lease);
      // Taking them has renewed the lease, but taking many may have taken a while.
      if (nowMs() - begunMs < RETRY_MS) heartbeat.noteRenewal();
      else heartbeat.beatAfter(0);
    },
    async close(): Promise<void> {
      await heartbeat.stop();
      const stopWaiting = after(RELEASE_MS, kept.forget);
      // Leases that are not released expire.
      const release = kept.current()?.transaction((inside) => releaseLeases(inside, leases, owner));
      await release?.catch(() => {});
      await kept.close();
      stopWaiting();
    },
  };
}
