import type { Instant } from '../../core/instant.ts';
import { HEARTBEAT_MS } from '../../core/lease.ts';
import type { WriterLease } from './environment-lock.ts';
import type { LastingConnection } from './lasting-connection.ts';
import { backendOf, giveSign, type LeaseOwner, releaseLeases, takeLeases } from './leases.ts';

export interface PresencePorts {
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

/** Nothing is asked of the database before the first environment is to be held. */
export function createPresence({ owner, connect, every }: PresencePorts): Presence {
  const leases = new Map<string, WriterLease>();
  let connection: LastingConnection | null = null;
  let backend: string | null = null;
  let stop = (): void => {};
  let sign: Promise<unknown> = Promise.resolve();
  const connected = async (): Promise<LastingConnection> => {
    if (connection !== null) return connection;
    const fresh = await connect();
    backend = await fresh.transaction((each) => backendOf(each, fresh.processId));
    connection = fresh;
    // Another process may take the environments once the connection has ended, so a new one is made at once.
    fresh.onEnd(() => {
      if (connection === fresh) giveSigns();
    });
    return fresh;
  };
  const leaseOwner = (): LeaseOwner => ({ owner, backend });
  const forget = async (): Promise<void> => {
    const broken = connection;
    connection = null;
    await broken?.close().catch(() => {});
  };
  /** A sign that fails is no error: the next one comes soon, and a commit tells whether the lease is lost. */
  const giveSigns = (): void => {
    sign = sign
      .then(connected)
      .then((each) => each.transaction((inside) => giveSign(inside, leaseOwner())))
      .catch(forget);
  };
  return {
    leases,
    async hold(envIds, mirroredAt) {
      const each = await connected();
      const taken = await each.transaction((inside) => takeLeases(inside, leaseOwner(), { envIds, mirroredAt }));
      if (leases.size === 0) stop = every(HEARTBEAT_MS, giveSigns);
      for (const [envId, lease] of taken) leases.set(envId, lease);
    },
    async close() {
      stop();
      await sign;
      // What is not given back lapses by itself.
      await connection?.transaction((inside) => releaseLeases(inside, leases, owner)).catch(() => {});
      await forget();
    },
  };
}
