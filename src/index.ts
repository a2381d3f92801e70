export type { AccountOptions } from './api/account-settings.ts';
export type {
  AccountListReport,
  AccountReport,
  AccountTestReport,
  AddAccountOptions,
  ListedAccount,
  NamedAccountOptions,
  RemoveAccountOptions,
  TestedEnvironment,
} from './api/accounts.ts';
export { addAccount, listAccounts, removeAccount, testAccount } from './api/accounts.ts';
export type { AlertListReport, AlertTestReport, SnoozeOptions, SnoozeReport, TestAlertsOptions } from './api/alerts.ts';
export { openAlerts, snoozeAlert, testAlerts } from './api/alerts.ts';
export type { AccountEnvironmentStatus, AccountStatus, AllStatusReport, WorkerStatus } from './api/all-status.ts';
export { statusOfAll } from './api/all-status.ts';
export { type BackupOptions, backup } from './api/backup.ts';
export { type BiOptions, type BiReport, writeBi } from './api/bi.ts';
export { type CompactOptions, compact } from './api/compact.ts';
export type { VerifyExportReport } from './api/compare-export.ts';
export { type CopyOptions, copy, type FollowOptions, followMirror } from './api/copy.ts';
export type {
  ColumnDescription,
  DescribeOptions,
  MetricDescription,
  MirrorDescription,
  TableDescription,
} from './api/describe.ts';
export { describe } from './api/describe.ts';
export { type CheckReport, type DoctorEvent, type DoctorOptions, type DoctorReport, doctor } from './api/doctor.ts';
export { type ExportOptions, exportMirror } from './api/export.ts';
export type { ExportEvent, ExportReport } from './api/export-mirror.ts';
export { type MigrateOptions, type MigrateReport, migrate } from './api/migrate.ts';
export { mirrorApi } from './api/mirror-api.ts';
export { openMirror, type ReadableMirror } from './api/open-mirror.ts';
export { type ForecastReport, type PlanOptions, plan } from './api/plan.ts';
export type { ApiOptions } from './api/prepare-server.ts';
export { type QueryOptions, type QueryResult, query } from './api/query.ts';
export { type PageReport, type ReportOptions, writeReport } from './api/report.ts';
export { runWorker as work, type WorkEvent, type WorkOptions } from './api/run-worker.ts';
export { type ScheduleEvent, type ScheduleOptions, schedule } from './api/schedule.ts';
export { type RunningServer, type ServeOptions, serve } from './api/serve.ts';
export { status } from './api/status.ts';
export type { StatusReport } from './api/status-report.ts';
export { sync } from './api/sync.ts';
export { type VerifyOptions, verify } from './api/verify.ts';
export { type VerifyExportOptions, verifyExport } from './api/verify-export.ts';
export type { VerifyEvent } from './api/verify-mirror.ts';
export type { CompareDepth as Depth } from './core/decide/difference.ts';
export { type RecoveryKind as Recovery, SyncError } from './core/errors.ts';
export type { CopyEvent, CopyReport } from './destination/copy-mirror.ts';
export type { SqlParameters, SqlValue } from './destination/mirror-store.ts';
export type { BackupReport } from './destination/sqlite/backup.ts';
export type { CompactReport } from './destination/sqlite/compact-file.ts';
export type { ReadResult, StatementOptions } from './destination/sqlite/read-statement.ts';
export { OptionError } from './settings/option-error.ts';
export type {
  AlertOptions,
  CollectionsReport as VerifyReport,
  MirrorOptions,
  ServiceOptions,
  SyncEvent,
  SyncOptions,
} from './settings/options.ts';
export { type CollectionName as StreamName, STREAM_NAMES } from './streams/catalogue.ts';
export type { RunSummary, StreamSummary } from './sync/summary.ts';
