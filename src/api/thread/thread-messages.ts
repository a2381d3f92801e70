import type { RecoveryKind } from '../../core/errors.ts';
import type { CopyEvent, CopyReport } from '../../destination/copy-mirror.ts';
import type { FollowedFile, ReplicaEvent } from '../../destination/follow-replica.ts';
import type { Measurements } from '../../metrics/measurements.ts';
import type { SyncEvent } from '../../settings/options.ts';
import type { SyncSettings, WorkWatch } from '../../settings/sync-settings.ts';
import type { RunSummary } from '../../sync/summary.ts';
import type { VerifyReport } from '../../verify/verify-report.ts';
import type { VerifyExportReport, VerifyExportSettings } from '../compare-export.ts';
import type { ExportEvent, ExportReport, ExportSettings } from '../export-mirror.ts';
import type { VerifyEvent, VerifySettings } from '../verify-mirror.ts';

/** The jobs of a thread: each takes its settings, reports to its watch, and returns its result. */
export interface ThreadJobs {
  sync(settings: SyncSettings, watch: WorkWatch<SyncEvent>): Promise<RunSummary>;
  verify(settings: VerifySettings, watch: WorkWatch<VerifyEvent>): Promise<VerifyReport>;
  export(settings: ExportSettings, watch: WorkWatch<ExportEvent>): Promise<ExportReport>;
  verifyExport(settings: VerifyExportSettings, watch: WorkWatch<never>): Promise<VerifyExportReport>;
  /** Between the addresses of a mirror and of its copy, as given. */
  copy(settings: { readonly db: string; readonly to: string }, watch: WorkWatch<CopyEvent>): Promise<CopyReport>;
  follow(settings: FollowSettings, watch: WorkWatch<ReplicaEvent>): Promise<void>;
  measure(db: string): Promise<Measurements>;
}

export type FollowSettings = FollowedFile & { readonly db: string };

export type ThreadJob = {
  [Name in keyof ThreadJobs]: { readonly name: Name; readonly settings: Parameters<ThreadJobs[Name]>[0] };
}[keyof ThreadJobs];

/** If an event has an `error`, it is an `Error`, a string or null. */
export type JobEvent = SyncEvent | VerifyEvent | ExportEvent | CopyEvent | ReplicaEvent;

export type JobReply =
  /** Each is a `JobEvent` whose error, if it has one, is serialized. */
  | { readonly type: 'events'; readonly events: readonly { readonly error?: unknown }[] }
  | { readonly type: 'ended'; readonly result: unknown }
  | { readonly type: 'failed'; readonly error: SerializedError };

/** An error that can be posted in a message, with its recovery. */
export interface SerializedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly recovery: RecoveryKind | null;
  readonly cause: SerializedError | null;
}
