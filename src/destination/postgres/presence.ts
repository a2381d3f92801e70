import { HEARTBEAT_MS, LEASE_MS } from '../../core/schedule/lease.ts';
import type { Instant } from '../../core/time/instant.ts';
import type { WriterLease } from './environment-lock.ts';
import type { LastingConnection } from './lasting-connection.ts';
import { introduce, type LeaseOwner, releaseLeases, renewLease, takeLeases } from './leases.ts';
import { isTransient } from './lost-connection.ts';
import { type RetryWaiting, withRetry } from './retry.ts';

export interface PresencePorts extends RetryWaiting {
  /** Random, so that no two processes share it. */
  readonly owner: string;
  connect(): Promise<LastingConnection>;
  /** Calls a function once, unless the returned one is called before. */
  after(delayMs: number, act: () => void): () => void;
  /** Called when the process gave no sign for so long that others may take its environments. */
  onLapsed(): void;
}

/** This process, as other processes see it: it lives, and these are the environments that it writes (R26). */
export interface Presence {
  /** The leases by environment. */
  readonly leases: ReadonlyMap<string, WriterLease>;
  /** @throws SyncError `locked` if another process that lives writes one of them */
  hold(envIds: readonly string[], mirroredAt: Instant): Promise<void>;
  /** Whether the server itself answers, not a pooler. */
  isDirect(): boolean;
  /** Gives back what it holds. */
  close(): Promise<void>;
}

/** The connection that shows that a process lives. */
interface KeptConnection {
  backend: string | null;
  /** The one that is open, or a new one. */
  connected(): Promise<LastingConnection>;
  current(): LastingConnection | null;
  /** Breaks it off, since it does not work. */
  forget(): void;
  close(): Promise<void>;
}

/** `onEnd` is called when it has ended, unless it is forgotten. */
function keepConnection(connect: PresencePorts['connect'], onEnd: () => void): KeptConnection {
  let connection: LastingConnection | null = null;
  // One that cannot introduce itself is broken off as well.
  let opening: LastingConnection | null = null;
  const kept: KeptConnection = {
    backend: null,
    current: () => connection,
    async connected() {
      if (connection !== null) return connection;
      const fresh = await connect();
      opening = fresh;
      kept.backend = await fresh
        .transaction((each) => introduce(each, fresh.processId))
        .catch((error: unknown) => {
          fresh.breakOff();
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
    forget() {
      const broken = [connection, opening];
      [connection, opening] = [null, null];
      for (const each of broken) each?.breakOff();
    },
    async close() {
      const open = connection;
      connection = null;
      await open?.close().catch(() => {});
    },
  };
  return kept;
}

const NOTHING = (): void => {};

/** How soon a sign that failed is given again, in milliseconds. */
const SIGN_AGAIN_MS = 1000;

/** How long the server is waited for at the end: a run that was stopped has five seconds in all (R27). */
const RELEASE_MS = 1500;

interface Heartbeat {
  /** Gives the next sign after this time, then one after the other. */
  beatAfter(delayMs: number): void;
  stop(): Promise<void>;
}

/** A sign that fails is no error: the next one comes soon, and a commit tells whether the lease is lost. */
function createHeartbeat(
  kept: KeptConnection,
  { after, onLapsed }: Pick<PresencePorts, 'after' | 'onLapsed'>,
  giveSignOn: (connection: LastingConnection) => Promise<unknown>,
): Heartbeat {
  let sign: Promise<unknown> = Promise.resolve();
  let [stopNext, stopLapse] = [NOTHING, NOTHING];
  let isStopped = false;
  const beatAfter = (delayMs: number): void => {
    stopNext();
    const act = (): void => {
      sign = sign.then(beat);
    };
    stopNext = isStopped ? NOTHING : after(delayMs, act);
  };
  const beat = async (): Promise<void> => {
    // A server that does not answer is given up.
    const stopWaiting = after(HEARTBEAT_MS, kept.forget);
    try {
      await giveSignOn(await kept.connected());
      stopLapse();
      stopLapse = isStopped ? NOTHING : after(LEASE_MS, onLapsed);
      beatAfter(HEARTBEAT_MS);
    } catch {
      kept.forget();
      beatAfter(SIGN_AGAIN_MS);
    } finally {
      stopWaiting();
    }
  };
  return {
    beatAfter,
    async stop() {
      isStopped = true;
      stopNext();
      await sign;
      stopLapse();
    },
  };
}

/** Nothing is asked of the database before the first environment is to be held. */
export function createPresence({ owner, connect, after, onLapsed, ...waiting }: PresencePorts): Presence {
  const leases = new Map<string, WriterLease>();
  const leaseOwner = (): LeaseOwner => ({ owner, backend: kept.backend });
  // Another process may take the environments once the connection has ended, so a new one is made at once.
  const kept = keepConnection(connect, () => heartbeat.beatAfter(0));
  const heartbeat = createHeartbeat(kept, { after, onLapsed }, (connection) =>
    connection.transaction((inside) => renewLease(inside, leaseOwner())),
  );
  const forgetLost = async (error: unknown): Promise<never> => {
    if (isTransient(error)) kept.forget();
    throw error;
  };
  return {
    leases,
    isDirect: () => kept.backend !== null,
    async hold(envIds, mirroredAt) {
      // What the same owner takes twice is taken once.
      const taken = await withRetry(waiting, async () => {
        const each = await kept.connected();
        const taking = each.transaction((inside) => takeLeases(inside, leaseOwner(), { envIds, mirroredAt }));
        return taking.catch(forgetLost);
      });
      for (const [envId, lease] of taken) leases.set(envId, lease);
      // At once: to take many environments may have taken a while.
      heartbeat.beatAfter(0);
    },
    async close() {
      await heartbeat.stop();
      const stopWaiting = after(RELEASE_MS, kept.forget);
      // What is not given back lapses by itself.
      const release = kept.current()?.transaction((inside) => releaseLeases(inside, leases, owner));
      await release?.catch(() => {});
      await kept.close();
      stopWaiting();
    },
  };
}
