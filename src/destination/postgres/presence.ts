import type { Instant } from '../../core/instant.ts';
import { HEARTBEAT_MS } from '../../core/lease.ts';
import type { WriterLease } from './environment-lock.ts';
import type { LastingConnection } from './lasting-connection.ts';
import { backendOf, giveSign, type LeaseOwner, releaseLeases, takeLeases } from './leases.ts';
import { isTransient } from './lost-connection.ts';
import { type RetryWaiting, retried } from './retry.ts';

export interface PresencePorts extends RetryWaiting {
  /** Random, so that no two processes share it. */
  readonly owner: string;
  connect(): Promise<LastingConnection>;
  /** Calls a function again and again until the returned one is called. */
  every(delayMs: number, act: () => void): () => void;
}

/** This process, as other processes see it: it lives, and these are the environments that it writes (R26). */
export interface Presence {
  /** The leases by environment. */
  readonly leases: ReadonlyMap<string, WriterLease>;
  /** @throws SyncError `locked` if another process that lives writes one of them */
  hold(envIds: readonly string[], mirroredAt: Instant): Promise<void>;
  /** Gives back what it holds. */
  close(): Promise<void>;
}

/** The connection that shows that a process lives. */
interface KeptConnection {
  backend: string | null;
  /** The one that is open, or a new one. */
  connected(): Promise<LastingConnection>;
  current(): LastingConnection | null;
  forget(): Promise<void>;
}

/** `onEnd` is called when it has ended, unless it is forgotten. */
function keepConnection(connect: PresencePorts['connect'], onEnd: () => void): KeptConnection {
  let connection: LastingConnection | null = null;
  const kept: KeptConnection = {
    backend: null,
    current: () => connection,
    async connected() {
      if (connection !== null) return connection;
      const fresh = await connect();
      kept.backend = await fresh.transaction((each) => backendOf(each, fresh.processId));
      connection = fresh;
      fresh.onEnd(() => {
        if (connection === fresh) onEnd();
      });
      return fresh;
    },
    async forget() {
      const broken = connection;
      connection = null;
      await broken?.close().catch(() => {});
    },
  };
  return kept;
}

/** Nothing is asked of the database before the first environment is to be held. */
export function createPresence({ owner, connect, every, ...waiting }: PresencePorts): Presence {
  const leases = new Map<string, WriterLease>();
  let stop = (): void => {};
  let sign: Promise<unknown> = Promise.resolve();
  const leaseOwner = (): LeaseOwner => ({ owner, backend: kept.backend });
  /** A sign that fails is no error: the next one comes soon, and a commit tells whether the lease is lost. */
  const giveSigns = (): void => {
    sign = sign
      .then(kept.connected)
      .then((each) => each.transaction((inside) => giveSign(inside, leaseOwner())))
      .catch(kept.forget);
  };
  // Another process may take the environments once the connection has ended, so a new one is made at once.
  const kept = keepConnection(connect, giveSigns);
  const forgetLost = async (error: unknown): Promise<never> => {
    if (isTransient(error)) await kept.forget();
    throw error;
  };
  return {
    leases,
    async hold(envIds, mirroredAt) {
      // What the same owner takes twice is taken once.
      const taken = await retried(waiting, async () => {
        const each = await kept.connected();
        const taking = each.transaction((inside) => takeLeases(inside, leaseOwner(), { envIds, mirroredAt }));
        return taking.catch(forgetLost);
      });
      if (leases.size === 0) stop = every(HEARTBEAT_MS, giveSigns);
      for (const [envId, lease] of taken) leases.set(envId, lease);
    },
    async close() {
      stop();
      await sign;
      // What is not given back lapses by itself.
      const release = kept.current()?.transaction((inside) => releaseLeases(inside, leases, owner));
      await release?.catch(() => {});
      await kept.forget();
    },
  };
}
