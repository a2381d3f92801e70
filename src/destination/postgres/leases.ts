import { SyncError } from '../../core/errors.ts';
import type { Instant } from '../../core/instant.ts';
import { LEASE_MS, type LeaseHolder, mayTake } from '../../core/lease.ts';
import type { PostgresConnection } from './connection.ts';
import type { WriterLease } from './environment-lock.ts';
import { sqlStateOf } from './server-error.ts';

/** A process that writes environments, as the database knows it. */
export interface LeaseOwner {
  /** Random, so that no two processes share it. */
  readonly owner: string;
  /** The backend of its connection; null behind a pooler, which gives a client another backend in each transaction. */
  readonly backend: string | null;
}

/** `now()` is the database's clock, which all processes share; no statement reads it over a column, as Citus demands. */
const NOW_MS = '(extract(epoch from now()) * 1000)::bigint';

/** The code of PostgreSQL for a lock that was not given in time. */
const NOT_AVAILABLE = '55P03';

/** How long a commit of another process is waited for. */
const PATIENCE_MS = 3000;

/** An owner that gave no sign of life for so long is forgotten. */
const FORGET_MS = 24 * 3600 * 1000;

/**
 * Takes environments for an owner, all or none. To be called in one transaction. `mirroredAt` is the clock of an environment that has none.
 * @returns the leases by environment
 * @throws SyncError `locked` if a process that lives writes one of them
 */
export async function takeLeases(
  connection: PostgresConnection,
  leaseOwner: LeaseOwner,
  { envIds, mirroredAt }: { envIds: readonly string[]; mirroredAt: Instant },
): Promise<Map<string, WriterLease>> {
  const { owner } = leaseOwner;
  // A long commit of another writer: it lives.
  await connection.query(`set local lock_timeout = '${PATIENCE_MS}ms'`);
  const nowMs = await giveSign(connection, leaseOwner);
  await connection.query('delete from lease_owners where until_ms < $1', [nowMs - FORGET_MS]);
  const leases = new Map<string, WriterLease>();
  // In one order for all processes, so that no two of them wait for each other.
  for (const envId of envIds.toSorted()) {
    const holder = await holderOf(connection, envId, mirroredAt).catch((error: unknown) => {
      throw sqlStateOf(error) === NOT_AVAILABLE ? heldError(envId, error) : error;
    });
    if (!mayTake(holder, owner, nowMs)) throw heldError(envId);
    const taken = await connection.query(
      'update mirror_environments set lease_owner = $2, lease_epoch = lease_epoch + 1 where env_id = $1 returning lease_epoch',
      [envId, owner],
    );
    leases.set(envId, { owner, epoch: Number(taken.rows[0]?.['lease_epoch']) });
  }
  return leases;
}

/** Says that an owner lives. @returns the database's time in milliseconds */
export async function giveSign(connection: PostgresConnection, { owner, backend }: LeaseOwner): Promise<number> {
  const { rows } = await connection.query(
    `insert into lease_owners (owner, until_ms, backend) values ($1, ${NOW_MS} + $2::bigint, $3)
      on conflict (owner) do update set until_ms = excluded.until_ms, backend = excluded.backend
      returning until_ms`,
    [owner, LEASE_MS, backend],
  );
  return Number(rows[0]?.['until_ms']) - LEASE_MS;
}

/** Gives back what the owner still holds. To be called in one transaction. */
export async function releaseLeases(
  connection: PostgresConnection,
  leases: ReadonlyMap<string, WriterLease>,
  owner: string,
): Promise<void> {
  for (const envId of [...leases.keys()].toSorted())
    await connection.query(
      'update mirror_environments set lease_owner = null where env_id = $1 and lease_owner = $2 and lease_epoch = $3',
      [envId, owner, leases.get(envId)?.epoch],
    );
  await connection.query('delete from lease_owners where owner = $1', [owner]);
}

/** The environments that a process writes now. A process that lives is one whose lease has not ended and whose backend is there. */
export async function heldEnvironments(connection: PostgresConnection): Promise<Set<string>> {
  // Two statements: where environments are on many nodes, they are not joined with what the server knows of its own backends.
  const alive = await connection.query(
    `select o.owner from lease_owners o where o.until_ms > ${NOW_MS} and not ${IS_GONE}`,
  );
  const owners = new Set(alive.rows.map((row) => row['owner']));
  const { rows } = await connection.query(
    'select env_id, lease_owner from mirror_environments where lease_owner is not null',
  );
  return new Set(rows.filter((row) => owners.has(row['lease_owner'] ?? null)).map((row) => String(row['env_id'])));
}

/** The condition that the backend of the owner `o` has ended. Its number may belong to a later one, so its start counts as well. */
const IS_GONE = `(o.backend is not null and not exists (select 1 from pg_stat_activity b
  where b.pid || ' ' || coalesce(b.backend_start::text, substr(o.backend, strpos(o.backend, ' ') + 1)) = o.backend))`;

/**
 * The backend of this connection, as `pg_stat_activity` shows it to other processes; null if the number that the server gave at the start
 * (`processId`) is that of a pooler.
 */
export async function backendOf(connection: PostgresConnection, processId: number | null): Promise<string | null> {
  const { rows } = await connection.query(
    `select pid, pid || ' ' || backend_start::text as backend from pg_stat_activity where pid = pg_backend_pid()`,
  );
  return Number(rows[0]?.['pid']) === processId ? String(rows[0]?.['backend']) : null;
}

async function holderOf(
  connection: PostgresConnection,
  envId: string,
  mirroredAt: Instant,
): Promise<LeaseHolder | null> {
  await connection.query(
    'insert into mirror_environments (env_id, mirrored_at) values ($1, $2) on conflict (env_id) do nothing',
    [envId, mirroredAt],
  );
  const lock = 'select lease_owner from mirror_environments where env_id = $1 for update';
  const locked = await connection.query(lock, [envId]);
  const owner = locked.rows[0]?.['lease_owner'] ?? null;
  if (owner === null) return null;
  // Otherwise the server answers from its first look in this transaction, and does not know who has come since.
  await connection.query('select pg_stat_clear_snapshot()');
  const found = await connection.query(
    `select o.until_ms, ${IS_GONE} as is_gone from lease_owners o where o.owner = $1`,
    [owner],
  );
  const [row] = found.rows;
  return {
    owner: String(owner),
    untilMs: Number(row?.['until_ms'] ?? 0),
    isGone: row === undefined || Number(row['is_gone']) === 1,
  };
}

/** Says who has to wait, and for how long at most. */
function heldError(envId: string, cause?: unknown): SyncError {
  return new SyncError(
    'locked',
    `another process syncs environment ${envId} into this mirror: wait until it has ended; if it was killed on another host, its hold ends ${LEASE_MS / 1000} s after its last sign of life`,
    { cause },
  );
}
