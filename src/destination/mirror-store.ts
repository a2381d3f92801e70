import type { verifications } from '../../schema/page.ts';
import type { AlertRule } from '../core/alerts/alert.ts';
import type { StorageLimits } from '../core/decode/storage-limits.ts';
import type { OpenMirror } from '../core/ports/open-mirror.ts';
import type { QuotaKeeper } from '../core/ports/quota-keeper.ts';
import type { CopySource, CopyTarget, ReplicaSource } from './sql/copied-tables.ts';
import type { MirrorScope, SqlStatements } from './sql/statements.ts';

/** The port of a destination: all that commands do with a mirror at one address. Every error is a `SyncError`. */
export interface MirrorStore {
  /** The mirror's name in messages and reports, without a password. */
  readonly display: string;
  /** The path of a mirror in an SQLite file; null for any other. */
  readonly file: string | null;
  /** What it cannot hold; null if it can hold everything. */
  readonly limits: StorageLimits | null;
  /** Distributes the tables over several nodes; null if it cannot. */
  readonly distribution: TableDistribution | null;
  exists(): Promise<boolean>;
  /** The times of the mirror's last migration, or 0, and of this build's. @throws SyncError `usage` if unreadable */
  version(): Promise<MirrorVersion>;
  /** Refuses an address where no mirror can be created, before any request is made. @throws SyncError `usage` */
  checkPlace(): Promise<void>;
  /** Opens the mirror for its writer, creating or migrating it first. @throws SyncError `locked` or `usage` */
  open(stop: AbortSignal, options?: WriterOptions): Promise<OpenMirror>;
  /** Creates the mirror, or migrates an older version, unless a run is doing so. @throws SyncError `usage` */
  bringUpToDate(): Promise<MirrorChange>;
  /** Reads a mirror in one state. @throws SyncError `usage` if there is none, or one of another version */
  read<Result>(statementsOf: (scopeOf: (envId: string) => MirrorScope) => SqlStatements<Result>): Promise<Result>;
  /** Runs one read-only statement, in the database's own SQL, up to its first rows. @throws SyncError `usage` */
  query(statement: ReadStatement): Promise<StatementRows>;
  isWritten(): Promise<boolean>;
  /** Records a verification, unless another process is writing to the mirror. */
  record(verification: Verification): Promise<void>;
  /**
   * Stores an account's quota in the database, for all who write to it (R23); null if a local file stores it. `account`
   * is its key, `nowMs` a monotonic clock of this process. An abort does not wait for the server.
   */
  openQuotaKeeper(account: string, nowMs: () => number, stop: AbortSignal): QuotaKeeper | null;
  /** Opens the mirror for its replicas; null for a file, which needs none. @throws SyncError */
  readonly openReplicaSource: (() => Promise<ReplicaSource>) | null;
  /** All rows as of one instant, for a copy of the mirror. @throws SyncError `usage` if there is no mirror */
  openCopySource(): Promise<CopySource>;
  /** An empty place for a copy. @throws SyncError `usage` if it already holds a mirror */
  openCopyTarget(): Promise<CopyTarget>;
  /** Turns a database error into one line that says what to do; other errors are returned as they are. */
  explain(error: unknown): unknown;
}

/** When migrations were written, in milliseconds since 1970. */
export interface MirrorVersion {
  readonly found: number;
  readonly last: number;
}

export interface WriterOptions {
  /** How long commits that change no row may wait for the next one, in milliseconds; not at all by default. */
  readonly quietMs?: number;
  /** The rules by which each commit decides alerts. */
  readonly alertRules?: readonly AlertRule[];
}

/** The result of bringing a mirror up to date: created, migrated, or unchanged. */
export type MirrorChange = 'made' | 'updated' | 'none';

/** A database that can distribute a mirror's tables over several nodes by environment. */
interface TableDistribution {
  /** @throws SyncError `usage` if the database has only one node */
  check(): Promise<void>;
  /** Distributes the tables of an up-to-date mirror. @throws SyncError */
  distribute(): Promise<DistributionReport>;
}

export interface DistributionReport {
  readonly distributed_now: readonly string[];
  /** All tables distributed by `env_id`. */
  readonly distributed: readonly string[];
  /** Tables that stay on the coordinator. */
  readonly local: readonly string[];
}

/** A value as SQLite stores it. */
export type SqlValue = string | number | bigint | Uint8Array | null;

/** Values for the parameters of a statement: by position or, in SQLite, by name (`@name`). */
export type SqlParameters = readonly SqlValue[] | Readonly<Record<string, SqlValue>>;

export interface ReadStatement {
  readonly sql: string;
  readonly parameters?: SqlParameters | undefined;
  /** Returns every integer as a bigint; by default, only those that a number cannot hold exactly. */
  readonly bigints?: boolean | undefined;
  /** The most seconds the statement may take on a server; 0 for no limit. */
  readonly timeoutSeconds: number;
}

/** The rows of a statement, read on demand. */
export interface StatementRows {
  readonly columns: readonly string[];
  /** The rows as lists in column order, in portions of bounded size. */
  readonly portions: AsyncIterable<readonly (readonly SqlValue[])[]>;
  /** Ends the statement and closes its connection. Not needed once all rows are read. */
  close(): Promise<void>;
}

export type Verification = Omit<typeof verifications.$inferInsert, 'id'>;
