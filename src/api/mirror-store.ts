import type { verifications } from '../../schema/page.ts';
import type { MirrorChange } from '../core/mirror-change.ts';
import type { StorageLimits } from '../core/storage-limits.ts';
import type { DistributionReport } from '../destination/postgres/citus.ts';
import type { QuotaRowOptions } from '../destination/postgres/quota-row.ts';
import type { MirrorScope, SqlStatements } from '../destination/sql/statements.ts';
import type { OpenMirror } from '../sync/ports.ts';

/** Where a mirror is kept: in a file, or in PostgreSQL. Every error is a `SyncError` that says what to do. */
export interface MirrorStore {
  /** What messages and reports call it; it shows no password. */
  readonly display: string;
  /** What it cannot hold; null if it can hold everything. */
  readonly limits: StorageLimits | null;
  /** Whether there is a mirror. */
  exists(): Promise<boolean>;
  /** Refuses an address at which no mirror can be made, before any request. @throws SyncError `usage` */
  checkPlace(): Promise<void>;
  /**
   * Opens the mirror for its writer, and makes or migrates it first. Commits that change no row may wait up to `quietMs` for others.
   * @throws SyncError `locked` or `usage`
   */
  open(stop: AbortSignal, quietMs?: number): Promise<OpenMirror>;
  /** Makes a mirror, or migrates one of an older version, as a run does, unless a run is doing so. @throws SyncError `usage` */
  bringUpToDate(): Promise<MirrorChange>;
  /** @throws SyncError `usage` if the tables cannot be distributed, because there is no Citus */
  checkCitus(): Promise<void>;
  /** Distributes the tables of an up-to-date mirror over the nodes of Citus. @throws SyncError */
  distribute(): Promise<DistributionReport>;
  /** Reads from one state of an existing mirror. @throws SyncError `usage` if there is none, or one of another version */
  read<Result>(statementsOf: (scopeOf: ScopeOf) => SqlStatements<Result>): Promise<Result>;
  /** Whether a process writes to the mirror now. */
  isWritten(): Promise<boolean>;
  /** Records a verification, if nobody writes to the mirror. */
  record(verification: Verification): Promise<void>;
  /** The database that keeps the account's quota for all who write to it (R23); null where a file of this machine does. A stop waits for no answer. */
  openQuotaDatabase(stop: AbortSignal): QuotaDatabase | null;
  /** Gives the mirror as a file: its own, or a copy that is removed afterwards. `stop` ends the making of a copy. */
  withFile<Result>(use: (path: string) => Promise<Result>, stop?: AbortSignal): Promise<Result>;
  /** Turns an error of the database into one line that says what to do; other errors come back as they are. */
  explain(error: unknown): unknown;
}

export interface QuotaDatabase {
  readonly transaction: QuotaRowOptions['transaction'];
  close(): Promise<void>;
}

type ScopeOf = (envId: string) => MirrorScope;
export type Verification = Omit<typeof verifications.$inferInsert, 'id'>;
