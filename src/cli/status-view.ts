import type { EnvironmentStatus, RunStatusReport, StatusReport, StreamReportStatus } from '../api/status-report.ts';
import { counted } from '../core/counted.ts';
import { type Instant, secondsBetween } from '../core/time/instant.ts';
import { type FittingColumn, renderFitting } from './rows-view.ts';
import { modeText, secondText, span } from './words.ts';

export function renderStatus(report: StatusReport, width: number | null): string {
  const rejected = report.environments_rejected;
  return [
    `${report.db} mirrors ${report.base_url ?? 'nothing yet'}`,
    lastRun(report.last_run, report.checked_at),
    ...(rejected > 0 ? [`${counted(rejected, 'environment')} rejected: see the table rejected_rows`] : []),
    ...report.environments.flatMap((environment) => ['', ...renderEnvironment(environment, report, width)]),
    '',
  ].join('\n');
}

function renderEnvironment(environment: EnvironmentStatus, report: StatusReport, width: number | null): string[] {
  const { env_id, environment: name, cron, missing_since, streams } = environment;
  const title = `${name} (${env_id})${cron === null ? '' : `, cron ${cron}`}`;
  const missing =
    missing_since === null ? '' : `, not listed by the source since ${secondText(missing_since)}; its rows stay`;
  const remarks = [...streams.flatMap((each) => notes(each, report)), ...environment.pruned.map(prunedNote)];
  return [title + missing, renderFitting(columnsAt(report.checked_at), streams, width), ...remarks];
}

function prunedNote({ history, action, complete_before, row_count }: EnvironmentStatus['pruned'][number]): string {
  const what = action === 'thin' ? 'thinned to one a day' : 'pruned';
  const until =
    complete_before === null ? '; not finished' : ` before ${complete_before.slice(0, '2026-11-20'.length)}`;
  return `  ${history}: ${what}${until}, ${counted(row_count, 'row')} removed`;
}

/** A stream without a watermark was never fully synced, unless another stream brings its rows. */
const columnsAt = (now: Instant): readonly FittingColumn<StreamReportStatus>[] => [
  { head: 'stream', cell: ({ stream }) => stream },
  { head: 'rows', cell: ({ rows }) => rows },
  { head: 'as of', cell: ({ watermark }) => (watermark === null ? '' : secondText(watermark)), spare: 1 },
  {
    head: 'age',
    cell: ({ watermark_age_seconds: seconds, last_run, rows }) =>
      seconds === null ? (last_run === null && rows > 0 ? '' : 'never') : span(seconds),
  },
  { head: 'last run', cell: ({ last_run: last }) => last?.status ?? '' },
  { head: 'mode', cell: modeCell },
  { head: 'next scan', cell: (stream) => nextScan(stream, now) },
];

function modeCell({ stream, last_run: last }: StreamReportStatus): string {
  if (last !== null) return modeText(last.mode, last.reason);
  // Without --history, its rows come with those of latest_test_executions.
  return stream === 'test_executions' ? 'latest only' : '';
}

/** How long until a scan is due (R13). */
function nextScan({ next_scan_at, scan_due }: StreamReportStatus, now: Instant): string {
  if (scan_due !== null) return 'due';
  if (next_scan_at === null) return '';
  const seconds = Math.round(secondsBetween(now, next_scan_at));
  return seconds <= 0 ? 'due' : `in ${span(seconds)}`;
}

function notes(status: StreamReportStatus, { checked_at: now, last_run: run }: StatusReport): string[] {
  const { unavailable, under_way, rows_held, rows_rejected, marks, scan_due, last_run } = status;
  return [
    ...(unavailable && last_run?.error == null ? ['unavailable: the service reports that it is not live'] : []),
    ...(under_way === null ? [] : [unfinishedRound(under_way, { now, isRunning: run?.status === 'running' })]),
    ...(rows_held > 0
      ? [`${counted(rows_held, 'deletion')} held back: \`obsync sync --allow-shrink\` applies them`]
      : []),
    ...(rows_rejected > 0 ? [`${counted(rows_rejected, 'row')} rejected: see the table rejected_rows`] : []),
    ...(marks > 0 ? [`${counted(marks, 'follow-up read')} pending`] : []),
    ...(scan_due === null ? [] : [`the next run scans it in full (${scan_due})`]),
    // Deletions that are held back are shown above.
    ...(last_run?.error == null || last_run.status === 'held' ? [] : [`${last_run.status}: ${last_run.error}`]),
  ].map((note) => `  ${status.stream}: ${note}`);
}

/** An unfinished round is in progress only while a run is. */
function unfinishedRound(
  { mode, reason, since, pages }: NonNullable<StreamReportStatus['under_way']>,
  { now, isRunning }: { now: Instant; isRunning: boolean },
): string {
  const read = `a ${modeText(mode, reason)}`;
  const begun = since === null ? '' : `, started ${ago(since, now)} (${secondText(since)})`;
  if (isRunning) return `${read} is in progress${begun}: ${counted(pages, 'page')} so far`;
  return `${read}${begun}, stopped after ${counted(pages, 'page')}; the next run continues it`;
}

function lastRun(run: RunStatusReport | null, now: Instant): string {
  if (run === null) return 'there has been no run yet';
  const { rows_written, rows_deleted, requests, ended_at, started_at, error } = run;
  const intro = `run ${run.run} ${OUTCOMES[run.status]}`;
  if (ended_at === null) return `${intro}; it started ${ago(started_at, now)} (${secondText(started_at)})`;
  const work = `${counted(rows_written, 'row')} written, ${rows_deleted} deleted, ${counted(requests, 'request')}`;
  const line = `${intro}; it ended ${ago(ended_at, now)} (${secondText(ended_at)}): ${work}`;
  return error === null ? line : `${line}\n${error}`;
}

const OUTCOMES: Readonly<Record<RunStatusReport['status'], string>> = {
  running: 'is in progress',
  killed: 'was killed; the next run continues',
  done: 'is done',
  problems: 'ended with problems',
  refused: 'was refused',
  stopped: 'stopped at --max-requests; the next run continues',
  interrupted: 'was interrupted; the next run continues',
};

function ago(instant: Instant, now: Instant): string {
  return `${span(Math.max(0, Math.round(secondsBetween(instant, now))))} ago`;
}
