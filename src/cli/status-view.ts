import type { Instant } from '../core/instant.ts';
import { secondsBetween } from '../core/instant.ts';
import { renderTable } from './rows-view.ts';
import type { EnvironmentStatus, RunStatusReport, StatusReport, StreamStatus } from './status-report.ts';

const COLUMNS = ['stream', 'rows', 'as of', 'age', 'last run', 'mode', 'why'];

/** A report for people: a table for each environment, and below it what needs a word. */
export function renderStatus(report: StatusReport, width: number | null): string {
  const rejected = report.environments_rejected;
  return [
    `${report.db} mirrors ${report.base_url ?? 'nothing yet'}`,
    lastRun(report.last_run, report.checked_at),
    ...(rejected > 0 ? [`${rejected} environments could not be read: see the table rejected_rows`] : []),
    ...report.environments.flatMap((environment) => ['', ...renderEnvironment(environment, report.checked_at, width)]),
    '',
  ].join('\n');
}

function renderEnvironment(environment: EnvironmentStatus, now: Instant, width: number | null): string[] {
  const { env_id, environment: name, cron, missing_since, streams } = environment;
  const title = `${name} (${env_id})${cron === null ? '' : `, cron ${cron}`}`;
  const missing =
    missing_since === null ? '' : `, no longer listed since ${at(missing_since)}: its rows stay as they were`;
  return [
    title + missing,
    renderTable(COLUMNS, streams.map(row), width),
    ...streams.flatMap((each) => notes(each, now)),
  ];
}

function row({ stream, rows, watermark, watermark_age_seconds, last_run }: StreamStatus): unknown[] {
  return [
    stream,
    rows,
    watermark === null ? (last_run === null && rows > 0 ? '' : 'never') : at(watermark),
    watermark_age_seconds === null ? '' : span(watermark_age_seconds),
    last_run === null ? '' : last_run.status,
    last_run === null ? '' : last_run.mode,
    last_run === null ? '' : last_run.reason,
  ];
}

function notes(status: StreamStatus, now: Instant): string[] {
  const { unavailable, under_way: round, rows_held, rows_rejected, marks, scan_due, last_run } = status;
  const since = round?.since == null ? '' : ` since ${at(round.since)}, ${ago(round.since, now)}`;
  return [
    ...(unavailable ? ['unavailable, the service says that it is not live'] : []),
    ...(round === null ? [] : [`a ${round.mode} (${round.reason}) is under way${since}: ${round.pages} pages so far`]),
    ...(rows_held > 0 ? [`${rows_held} removals are held back: let them go with \`obsync sync --allow-shrink\``] : []),
    ...(rows_rejected > 0 ? [`${rows_rejected} rows are rejected: see the table rejected_rows`] : []),
    ...(marks > 0 ? [`${marks} follow-up reads are owed`] : []),
    ...(scan_due === null ? [] : [`the next run scans it anew (${scan_due})`]),
    // What is held back is told above.
    ...(last_run?.error == null || last_run.status === 'held' ? [] : [`${last_run.status}: ${last_run.error}`]),
  ].map((note) => `  ${status.stream}: ${note}`);
}

function lastRun(run: RunStatusReport | null, now: Instant): string {
  if (run === null) return 'it has seen no run yet';
  const { rows_written, rows_deleted, requests, ended_at, started_at, error } = run;
  const told = `run ${run.run} ${OUTCOMES[run.status]}`;
  if (ended_at === null) return `${told}; it began ${ago(started_at, now)} (${at(started_at)})`;
  const work = `${rows_written} rows written, ${rows_deleted} deleted, ${requests} requests`;
  const line = `${told}; it ended ${ago(ended_at, now)} (${at(ended_at)}): ${work}`;
  return error === null ? line : `${line}\n${error}`;
}

const OUTCOMES: Readonly<Record<RunStatusReport['status'], string>> = {
  running: 'is under way',
  killed: 'was killed, the next one goes on',
  done: 'is done',
  problems: 'ended with problems',
  refused: 'was refused',
  stopped: 'stopped at --max-requests, the next one goes on',
  interrupted: 'was interrupted, the next one goes on',
};

function at(instant: Instant): string {
  return `${instant.slice(0, 19).replace('T', ' ')} UTC`;
}

function ago(instant: Instant, now: Instant): string {
  return `${span(Math.max(0, Math.round(secondsBetween(instant, now))))} ago`;
}

/** A stretch of time in its largest unit that is not less than two. */
function span(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}
