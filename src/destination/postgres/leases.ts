import type { StateStatements } from '../../../state/state-statements.ts';
import { SyncError } from '../../core/errors.ts';
import { LEASE_MS, type LeaseHolder, mayTake } from '../../core/schedule/lease.ts';
import type { Row } from '../../core/stream.ts';
import type { Instant } from '../../core/time/instant.ts';
import type { SqlAnswer } from '../sql/statements.ts';
import { LOCK_NOT_AVAILABLE, sqlStateOf } from './server-error.ts';
import { handled, type PostgresConnection, type PostgresTransaction } from './transaction.ts';

/** The right of one process to write one environment (R26). */
export interface WriterLease {
  readonly owner: string;
  /** Grows each time the environment is taken. */
  readonly epoch: number;
}

/** A process that writes environments, as the database knows it. */
export interface LeaseOwner {
  /** Random, so that no two processes share it. */
  readonly owner: string;
  /** The backend of its connection; null behind a pooler, which may use another backend for each transaction. */
  readonly backend: string | null;
}

/** `now()` is the database's clock, which all processes share; Citus does not allow it to be read per column. */
const NOW_MS = '(extract(epoch from now()) * 1000)::bigint';

/** How long to wait for another process's commit. */
const PATIENCE_MS = 3000;

/** Owners without a heartbeat for this long are deleted. */
const DROP_OWNER_AFTER_MS = 24 * 3600 * 1000;

/**
 * Takes environments for an owner, all or none. Call this in one transaction. `mirroredAt` is the clock of an
 * environment that has none.
 * @returns the leases by environment
 * @throws SyncError `locked` if a live process writes one of them
 */
export async function takeLeases(
  transaction: PostgresTransaction,
  leaseOwner: LeaseOwner,
  { envIds, mirroredAt }: { envIds: readonly string[]; mirroredAt: Instant },
): Promise<Map<string, WriterLease>> {
  const { owner } = leaseOwner;
  // Another writer with a long commit is alive.
  transaction.send("select set_config('lock_timeout', $1, true)", [`${PATIENCE_MS}ms`]);
  const renewed = handled(renewLease(transaction, leaseOwner));
  transaction.send(`delete from lease_owners where until_ms < ${NOW_MS} - $1::bigint`, [DROP_OWNER_AFTER_MS]);
  // In the same order for all processes, to avoid deadlocks.
  const sorted = envIds.toSorted();
  const held = await lockAll(transaction, sorted, mirroredAt);
  const nowMs = await renewed;
  const holders = await holdersOf(transaction, [...new Set(held.values())]);
  for (const [envId, holder] of held) if (!mayTake(holders.get(holder) ?? null, owner, nowMs)) throw heldError(envId);
  const taken = await answersTo(sorted, (envId) => transaction.query(TAKE, [envId, owner]));
  return new Map(taken.map(([envId, row]) => [envId, { owner, epoch: Number(row?.['lease_epoch']) }]));
}

const TAKE = `update mirror_environments set lease_owner = $2, lease_epoch = lease_epoch + 1 where env_id = $1
  returning lease_epoch`;

/** Locks the environments, and returns the owner of each one that has one. */
async function lockAll(
  transaction: PostgresTransaction,
  envIds: readonly string[],
  mirroredAt: Instant,
): Promise<Map<string, string>> {
  const locked = await answersTo(envIds, async (envId) => {
    const added = transaction.query(
      'insert into mirror_environments (env_id, mirrored_at) values ($1, $2) on conflict (env_id) do nothing',
      [envId, mirroredAt],
    );
    const lock = transaction.query('select lease_owner from mirror_environments where env_id = $1 for update', [envId]);
    return Promise.all([added, lock])
      .then(([, answer]) => answer)
      .catch((error: unknown) => {
        throw sqlStateOf(error) === LOCK_NOT_AVAILABLE ? heldError(envId, error) : error;
      });
  });
  return new Map(
    locked.flatMap(([envId, row]) => (row?.['lease_owner'] == null ? [] : [[envId, String(row['lease_owner'])]])),
  );
}

/** Runs a statement for each environment without waiting in between, and returns the first row of each result. */
function answersTo(
  envIds: readonly string[],
  ask: (envId: string) => Promise<SqlAnswer>,
): Promise<[envId: string, row: Row | undefined][]> {
  return Promise.all(envIds.map(async (envId) => [envId, (await ask(envId)).rows[0]]));
}

/** Renews an owner's lease, and returns the database's time in milliseconds. */
export async function renewLease(connection: PostgresConnection, { owner, backend }: LeaseOwner): Promise<number> {
  const { rows } = await connection.query(
    `insert into lease_owners (owner, until_ms, backend) values ($1, ${NOW_MS} + $2::bigint, $3)
      on conflict (owner) do update set until_ms = excluded.until_ms, backend = excluded.backend
      returning until_ms`,
    [owner, LEASE_MS, backend],
  );
  return Number(rows[0]?.['until_ms']) - LEASE_MS;
}

/** Releases what the owner still holds. Call this in one transaction. */
export async function releaseLeases(
  transaction: PostgresTransaction,
  leases: ReadonlyMap<string, WriterLease>,
  owner: string,
): Promise<void> {
  for (const envId of [...leases.keys()].toSorted())
    transaction.send(
      'update mirror_environments set lease_owner = null where env_id = $1 and lease_owner = $2 and lease_epoch = $3',
      [envId, owner, leases.get(envId)?.epoch],
    );
  transaction.send('delete from lease_owners where owner = $1', [owner]);
}

/** The environments being written by a live process: one whose lease has not expired and whose backend exists. */
export async function heldEnvironments(connection: PostgresConnection): Promise<Set<string>> {
  // Two statements, because distributed environments cannot be joined with what a server knows of its own backends.
  const alive = await connection.query(
    `select o.owner from lease_owners o where o.until_ms > ${NOW_MS} and not ${IS_GONE}`,
  );
  const owners = new Set(alive.rows.map((row) => row['owner']));
  const { rows } = await connection.query(
    'select env_id, lease_owner from mirror_environments where lease_owner is not null',
  );
  return new Set(rows.filter((row) => owners.has(row['lease_owner'] ?? null)).map((row) => String(row['env_id'])));
}

/** The condition that owner `o`'s backend has ended. Its start time counts too: process ids are reused. */
const IS_GONE = `(o.backend is not null and not exists (select 1 from pg_stat_activity b
  where b.pid || ' ' || coalesce(b.backend_start::text, substr(o.backend, strpos(o.backend, ' ') + 1)) = o.backend))`;

/**
 * The backend of this connection, as `pg_stat_activity` shows it to other processes; null if the process id reported at
 * the start (`processId`) is a pooler's. It also shortens leases from before the server's clock was set back, which
 * would otherwise end too late.
 */
export async function identifyBackend(
  transaction: PostgresTransaction,
  processId: number | null,
): Promise<string | null> {
  const { rows } = await transaction.query(
    `select pid, pid || ' ' || backend_start::text as backend, ${NOW_MS} + $1::bigint as latest_ms
      from pg_stat_activity where pid = pg_backend_pid()`,
    [LEASE_MS],
  );
  const [found] = rows;
  const latestMs = Number(found?.['latest_ms']);
  transaction.send('update lease_owners set until_ms = $1 where until_ms > $2', [latestMs, latestMs + LEASE_MS]);
  return Number(found?.['pid']) === processId ? String(found?.['backend']) : null;
}

/** What is known of these owners; nothing of one that is long gone. */
async function holdersOf(transaction: PostgresTransaction, owners: readonly string[]) {
  const holders = new Map<string, LeaseHolder>();
  if (owners.length === 0) return holders;
  // Otherwise the server answers from its first snapshot in this transaction and does not see newer backends.
  transaction.send('select pg_stat_clear_snapshot()');
  const sql = `select o.owner, o.until_ms, ${IS_GONE} as is_gone from lease_owners o where o.owner = any($1)`;
  const { rows } = await transaction.query(sql, [owners]);
  for (const row of rows) {
    const owner = String(row['owner']);
    holders.set(owner, { owner, untilMs: Number(row['until_ms']), isGone: Number(row['is_gone']) === 1 });
  }
  return holders;
}

/** Says which environment is held, and for how long at most. */
function heldError(envId: string, cause?: unknown): SyncError {
  return new SyncError(
    'locked',
    `another process syncs environment ${envId} into this mirror: wait until it has ended; if it was killed on another host, its lease expires ${LEASE_MS / 1000} s after its last heartbeat`,
    { cause },
  );
}

/** A server may lose what it has acknowledged, for example when an asynchronous standby takes over. */
export function lostCommits(envId: string): SyncError {
  const what = `the database has lost commits to environment ${envId} that it had acknowledged, as after a failover`;
  return new SyncError('run', `${what}: run again to read them again`);
}

/** The clock of an environment before its first commit. */
const NEVER: Instant = '0001-01-01T00:00:00.000000Z';

const LOCK = `select mirrored_at, lease_owner, lease_epoch from mirror_environments where env_id = @env for update`;

/**
 * Locks an environment until the transaction ends, so its commits are serialized, and checks the lease (R26). Every
 * commit begins with it. Without a lease, no other process may write.
 * @returns the time of the environment's clock
 * @throws SyncError `locked` if another process has taken the environment
 */
export function* lockEnvironment(envId: string, lease: WriterLease | null): StateStatements<Instant> {
  let [locked] = (yield { sql: LOCK, values: { env: envId } }).rows;
  if (locked === undefined) {
    const sql = 'insert into mirror_environments (env_id, mirrored_at) values (@env, @never) on conflict do nothing';
    yield { sql, values: { env: envId, never: NEVER } };
    [locked] = (yield { sql: LOCK, values: { env: envId } }).rows;
  }
  if (lease !== null && Number(locked?.['lease_epoch']) < lease.epoch) throw lostCommits(envId);
  if (lease !== null && (locked?.['lease_owner'] !== lease.owner || locked['lease_epoch'] !== lease.epoch))
    throw new SyncError('locked', `another process has taken environment ${envId}: this run writes nothing more to it`);
  return String(locked?.['mirrored_at']);
}
