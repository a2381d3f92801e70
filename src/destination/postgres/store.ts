import { randomUUID } from 'node:crypto';
import { saveVerification } from '../../../state/verification-store.ts';
import { closeAfter } from '../../core/close-after.ts';
import { SyncError, translateErrors } from '../../core/errors.ts';
import type { OpenMirror } from '../../core/ports/open-mirror.ts';
import type { Instant } from '../../core/time/instant.ts';
import type { MirrorStore, Verification, WriterOptions } from '../mirror-store.ts';
import type { PostgresAddress } from './address.ts';
import { distributeTables, refuseWithoutCitus } from './citus.ts';
import { openPostgresSource, openPostgresTarget, refuseOtherVersion } from './copy.ts';
import { createPostgresDestination, postgresScope } from './destination.ts';
import { POSTGRES_LIMITS } from './dialect.ts';
import { performOn } from './driver.ts';
import { heldEnvironments } from './leases.ts';
import { isTransient } from './lost-connection.ts';
import { comparedVersion, migratePostgres, postgresVersion } from './migrations.ts';
import { checkServer, type OpenConnection, openConnection } from './open-connection.ts';
import { openPool, type PostgresPool } from './pool.ts';
import { createPresence, openLastingConnection } from './presence.ts';
import { queryPostgres } from './query.ts';
import { QUOTA_IDLE_MS, rowKeeper } from './quota-row.ts';
import { replicaSource } from './replica-source.ts';
import { type RetryWaiting, WAITING, withRetry } from './retry.ts';
import { connectError, serverError, sqlStateOf } from './server-error.ts';
import { postgresState } from './state.ts';
import { tableStatistics, withStatistics } from './statistics.ts';
import { handled, inTransaction, type TransactionWork } from './transaction.ts';

export function postgresStore(address: PostgresAddress, clock: () => Instant): MirrorStore {
  const { display, schema } = address;
  const explain = (error: unknown): unknown => serverError(display, error);
  const share = sharePool(address);
  /** For work that may be repeated. */
  const connected = <Done>(work: (connection: OpenConnection) => Promise<Done>): Promise<Done> => {
    const waiting = { ...WAITING, patience: { isOver: false } };
    return withRetry(waiting, () => onConnection(address, waiting, work));
  };
  const reading = <Done>(work: TransactionWork<Done>): Promise<Done> =>
    connected((connection) => readOn(connection, address, work));
  return {
    display,
    file: null,
    limits: POSTGRES_LIMITS,
    distribution: {
      check: () => connected(refuseWithoutCitus),
      distribute: () => connected((connection) => distributeTables(connection, schema)),
    },
    explain,
    exists: () => withRetry({ ...WAITING, patience: { isOver: false } }, () => mirrorExists(share(), address)),
    version: () => connected((connection) => comparedVersion(connection, schema)),
    // The server reports missing permissions when the mirror is created.
    checkPlace: async () => {},
    open: (signal, options) => openMirror(address, share(), { ...options, signal, clock }),
    bringUpToDate: () => connected((connection) => migratePostgres(connection, schema)),
    read: (statementsOf) => reading((connection) => performOn(connection, statementsOf(postgresScope))),
    query: (statement) => queryPostgres(address, statement),
    isWritten: () => reading(async (connection) => (await heldEnvironments(connection)).size > 0),
    record: (verification) => record(address, verification),
    openQuotaKeeper(account, nowMs, signal) {
      const { close, ...database } = openQuotaDatabase(share(), { schema, signal });
      return { ...rowKeeper({ ...database, account, nowMs }), close };
    },
    openReplicaSource: async () => replicaSource(await openConnection(address), address),
    openCopySource: () => openPostgresSource(address),
    openCopyTarget: () => openPostgresTarget(address),
  };
}

function readOn<Done>(
  connection: OpenConnection,
  address: PostgresAddress,
  work: TransactionWork<Done>,
): Promise<Done> {
  const mode = 'isolation level repeatable read, read only';
  return inTransaction(connection, { schema: address.schema, mode, idleTimeoutMs: 0, use: 'read' }, async (inside) => {
    await refuseOtherVersion(inside, address);
    return work(inside);
  });
}

/** Records a verification, whose result stands whether or not it is recorded. */
async function record(address: PostgresAddress, verification: Verification): Promise<void> {
  const recorded = onConnection(address, WAITING, (connection) =>
    inTransaction(connection, { schema: address.schema }, (inside) =>
      performOn(inside, saveVerification(verification)),
    ),
  );
  await recorded.catch(() => {});
}

async function onConnection<Done>(
  address: PostgresAddress,
  waiting: RetryWaiting,
  work: (connection: OpenConnection) => Promise<Done>,
): Promise<Done> {
  const done = closeAfter(await openConnection(address, waiting), work);
  return translateErrors(done, (error) => serverError(address.display, error));
}

/** A run keeps this connection, because it has opened its quota before. */
function mirrorExists(shared: PostgresPool, { schema, display }: PostgresAddress): Promise<boolean> {
  const found = closeAfter(shared, (pool) =>
    pool.session(async (connection) => {
      const version = handled(postgresVersion(connection, schema));
      await checkServer(connection, display);
      return (await version) > 0;
    }),
  );
  return translateErrors(found, (error) => connectError(display, error));
}

/**
 * How many transactions of a run may be open at a time, including one of the quota. The commits of an environment are
 * serialized anyway.
 */
const MAX_CONNECTIONS = 5;

/** The mirror, its quota and the search for it share one pool, which is closed when the last of them closes it. */
function sharePool(address: PostgresAddress): () => PostgresPool {
  let shared: PostgresPool | null = null;
  let users = 0;
  return () => {
    const pool = shared ?? openPool({ ...address, maxConnections: MAX_CONNECTIONS });
    shared = pool;
    users += 1;
    let isClosed = false;
    const close = async (): Promise<void> => {
      if (isClosed) return;
      isClosed = true;
      users -= 1;
      if (users > 0) return;
      shared = null;
      await pool.close();
    };
    return { ...pool, close };
  };
}

/** How long after a signal a statement is cancelled, and its connection dropped, in milliseconds (R27). */
const [CANCEL_MS, BREAK_OFF_MS] = [2000, 3000];

/** Calls a function some time after a signal was aborted. Returns a function that prevents it. */
function afterAbort(signal: AbortSignal, delayMs: number, act: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    timer = setTimeout(act, delayMs);
  };
  signal.addEventListener('abort', wait, { once: true });
  return () => {
    signal.removeEventListener('abort', wait);
    clearTimeout(timer);
  };
}

/** The statement was cancelled, or its connection was not waited for. */
function isStopped(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && (isTransient(error) || sqlStateOf(error) === '57014');
}

const stopped = (cause: unknown): SyncError =>
  new SyncError('signal', 'stopped by a signal: run it again to continue', { cause });

async function openMirror(
  address: PostgresAddress,
  database: PostgresPool,
  { signal, clock, alertRules }: WriterOptions & { signal: AbortSignal; clock: () => Instant },
): Promise<OpenMirror> {
  const { schema, display } = address;
  const owner = randomUUID();
  const waiting: RetryWaiting = { ...WAITING, signal, patience: { isOver: false } };
  const explain = (error: unknown): unknown =>
    isStopped(error, signal) ? stopped(error) : serverError(display, error);
  const statistics = tableStatistics(database, schema);
  const presence = createPresence({
    nowMs: () => performance.now(),
    after,
    onLapsed: () => database.destroy(),
    ...waiting,
    owner,
    connect: () => openLastingConnection(address),
  });
  const ends = [
    afterAbort(signal, CANCEL_MS, () => void (presence.isDirect() && database.cancel().catch(() => {}))),
    afterAbort(signal, BREAK_OFF_MS, database.destroy),
  ];
  const made = withRetry(waiting, () => database.session((connection) => migratePostgres(connection, schema)));
  await made.catch(async (error: unknown) => {
    await database.close();
    throw explain(error);
  });
  return {
    state: postgresState(database, {
      ...waiting,
      name: display,
      clock,
      leases: () => presence.leases,
      errorOf: explain,
    }),
    destination: (envId, run) => {
      // No process writes an environment that it does not hold (R26).
      const lease = presence.leases.get(envId) ?? { owner, epoch: 0 };
      const options = { ...waiting, envId, run, clock, lease, alertRules, errorOf: explain };
      return withStatistics(createPostgresDestination(database, options), { envId, statistics });
    },
    hold: (envIds) => translateErrors(presence.hold(envIds, clock()), explain),
    flush: async () => {},
    async close() {
      for (const prevent of ends) prevent();
      await presence.close();
      await database.close();
    },
  };
}

/** Opens the quota's database. A transaction may be idle for `QUOTA_IDLE_MS`, and an abort doesn't wait. */
export function openQuotaDatabase(pool: PostgresPool, { schema, signal }: { schema: string; signal: AbortSignal }) {
  const prevent = afterAbort(signal, BREAK_OFF_MS, pool.destroy);
  const settings = { schema, idleTimeoutMs: QUOTA_IDLE_MS };
  const session: PostgresPool['session'] = (work) => withRetry(WAITING, () => pool.session(work));
  return {
    session,
    transaction: <Done>(work: TransactionWork<Done>) =>
      session((connection) => inTransaction(connection, settings, work)),
    close(): Promise<void> {
      prevent();
      return pool.close();
    },
  };
}

function after(delayMs: number, act: () => void): () => void {
  const timer = setTimeout(act, delayMs);
  return () => clearTimeout(timer);
}
