import type { StateStatements } from '../../../state/state-statements.ts';
import { SyncError } from '../../core/errors.ts';
import type { Instant } from '../../core/time/instant.ts';

/** The right of one process to write one environment (R26). */
export interface WriterLease {
  readonly owner: string;
  /** Grows each time the environment is taken. */
  readonly epoch: number;
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
