export type { CompareDepth as Depth } from './core/difference.ts';
export { type RecoveryKind as Recovery, SyncError } from './core/errors.ts';
export type { AccountOptions } from './library/account-settings.ts';
export {
  type AccountListReport,
  type AccountReport,
  type AccountTestReport,
  type AddAccountOptions,
  addAccount,
  type ListedAccount,
  listAccounts,
  type NamedAccountOptions,
  type RemoveAccountOptions,
  removeAccount,
  type TestedEnvironment,
  testAccount,
} from './library/accounts.ts';
export {
  type AccountEnvironmentStatus,
  type AccountStatus,
  type AllStatusReport,
  statusOfAll,
  type WorkerStatus,
} from './library/all-status.ts';
export { type BiOptions, type BiReport, writeBi } from './library/bi.ts';
export type { CollectionsReport as VerifyReport } from './library/collections.ts';
export type { VerifyExportReport } from './library/compare-export.ts';
export { type CopyOptions, copy } from './library/copy.ts';
export type { CopyEvent, CopyReport } from './library/copy-mirror.ts';
export { type DescribeOptions, describe, type MirrorDescription } from './library/describe.ts';
export type { ColumnDescription, TableDescription } from './library/dictionary.ts';
export { type ExportOptions, exportMirror } from './library/export.ts';
export type { ExportEvent, ExportReport } from './library/export-mirror.ts';
export { type MigrateOptions, type MigrateReport, migrate } from './library/migrate.ts';
export { mirrorApi } from './library/mirror-api.ts';
export type { ApiOptions } from './library/open-api.ts';
export { openMirror, type ReadableMirror } from './library/open-mirror.ts';
export { OptionError } from './library/option-error.ts';
export type { MirrorOptions, ServiceOptions, SyncEvent, SyncOptions } from './library/options.ts';
export { plan } from './library/plan.ts';
export type { ForecastReport } from './library/plan-report.ts';
export { type QueryOptions, query } from './library/query.ts';
export { type QueryStreamOptions, queryStream, type StreamedResult } from './library/query-stream.ts';
export type { QueryResult, SqlParameters, SqlValue, StatementOptions } from './library/read-statement.ts';
export { type PageReport, type ReportOptions, writeReport } from './library/report.ts';
export { type ScheduleEvent, type ScheduleOptions, schedule } from './library/schedule.ts';
export { type RunningServer, type ServeOptions, serve } from './library/serve.ts';
export { status } from './library/status.ts';
export type { StatusReport } from './library/status-report.ts';
export { sync } from './library/sync.ts';
export { type VerifyEvent, type VerifyOptions, verify } from './library/verify.ts';
export { type VerifyExportOptions, verifyExport } from './library/verify-export.ts';
export { type WorkEvent, type WorkOptions, work } from './library/work.ts';
export { type CollectionName as StreamName, STREAM_NAMES } from './streams/catalogue.ts';
export type { RunSummary, StreamSummary } from './sync/summary.ts';
