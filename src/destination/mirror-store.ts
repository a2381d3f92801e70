import type { verifications } from '../../schema/page.ts';
import type { StorageLimits } from '../core/decode/storage-limits.ts';
import type { OpenMirror } from '../core/ports/open-mirror.ts';
import type { QuotaKeeper } from '../core/ports/quota-keeper.ts';
import type { CopySource, CopyTarget } from './sql/copied-tables.ts';
import type { MirrorScope, SqlStatements } from './sql/statements.ts';

/**
 * The port of a destination: all that the commands do with a mirror at one address. `stores.ts` has one for each kind
 * of address. Every error is a `SyncError` that says what to do.
 */
export interface MirrorStore {
  /** The mirror in messages and reports, without a password. */
  readonly display: string;
  /** The path of a mirror that is a file of SQLite; null for any other. */
  readonly file: string | null;
  /** What it cannot hold; null if it can hold everything. */
  readonly limits: StorageLimits | null;
  /** Spreads the tables over several nodes; null if it cannot. */
  readonly distribution: TableDistribution | null;
  /** Whether there is a mirror. */
  exists(): Promise<boolean>;
  /** Refuses an address at which no mirror can be made, before any request. @throws SyncError `usage` */
  checkPlace(): Promise<void>;
  /**
   * Opens the mirror for its writer; creates or migrates it first. Commits that change no row may wait up to `quietMs`
   * for others.
   * @throws SyncError `locked` or `usage`
   */
  open(stop: AbortSignal, quietMs?: number): Promise<OpenMirror>;
  /** Creates the mirror, or migrates one of an older version, unless a run is doing so. @throws SyncError `usage` */
  bringUpToDate(): Promise<MirrorChange>;
  /**
   * Reads from one state of an existing mirror.
   * @throws SyncError `usage` if there is none, or one of another version
   */
  read<Result>(statementsOf: (scopeOf: ScopeOf) => SqlStatements<Result>): Promise<Result>;
  /** Runs one statement that only reads, up to its first rows, in the SQL of the database. @throws SyncError `usage` */
  query(statement: ReadStatement): Promise<StatementRows>;
  /** Whether a process writes to the mirror now. */
  isWritten(): Promise<boolean>;
  /** Records a verification, unless another process writes to the mirror. */
  record(verification: Verification): Promise<void>;
  /**
   * Keeps an account's quota in the database, for all who write to it (R23); null if a file of this machine keeps it.
   * `account` is its key, `nowMs` a monotonic clock of this process. An abort does not wait for the server.
   */
  openQuotaKeeper(account: string, nowMs: () => number, stop: AbortSignal): QuotaKeeper | null;
  /** All rows, as of one instant, to copy the mirror elsewhere. @throws SyncError `usage` if there is no mirror */
  openCopySource(): Promise<CopySource>;
  /** An empty place for a copy. @throws SyncError `usage` if there is a mirror already */
  openCopyTarget(): Promise<CopyTarget>;
  /** Turns an error of the database into one line that says what to do; other errors come back as they are. */
  explain(error: unknown): unknown;
}

/** What bringing a mirror up to date did: created it, migrated an older one, or nothing. */
export type MirrorChange = 'made' | 'updated' | 'none';

/** A database that can spread the tables of a mirror over several nodes, by environment. */
export interface TableDistribution {
  /** @throws SyncError `usage` if the database has only one node */
  check(): Promise<void>;
  /** Distributes the tables of an up-to-date mirror. @throws SyncError */
  distribute(): Promise<DistributionReport>;
}

/** The tables of a mirror after they were distributed. */
export interface DistributionReport {
  /** Those that were distributed now. */
  readonly distributed_now: readonly string[];
  /** All that are distributed by `env_id`. */
  readonly distributed: readonly string[];
  /** Those that stay on the coordinator. */
  readonly local: readonly string[];
}

/** A value as SQLite stores it. */
export type SqlValue = string | number | bigint | Uint8Array | null;

/** Values for the parameters of a statement: by position or, in SQLite, by name (`@name`). */
export type SqlParameters = readonly SqlValue[] | Readonly<Record<string, SqlValue>>;

/** One read-only statement. */
export interface ReadStatement {
  readonly sql: string;
  readonly parameters?: SqlParameters | undefined;
  /** Returns every integer as a bigint; by default only an integer that a number cannot hold exactly. */
  readonly bigints?: boolean | undefined;
  /** Seconds that the statement may take on a server, 0 for as long as it takes. */
  readonly timeoutSeconds: number;
}

/** The rows of a statement, read as they are asked for. */
export interface StatementRows {
  readonly columns: readonly string[];
  /** The rows as lists, in the order of the columns, in portions of a bounded size. */
  readonly portions: AsyncIterable<readonly (readonly SqlValue[])[]>;
  /** Ends the statement and closes its connection. Not needed after all rows are read. */
  close(): Promise<void>;
}

type ScopeOf = (envId: string) => MirrorScope;
export type Verification = Omit<typeof verifications.$inferInsert, 'id'>;
