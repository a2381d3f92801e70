import type { RunSummary } from '../sync/summary.ts';
import { renderTable } from './rows-view.ts';

const HEAD = [
  'environment',
  'stream',
  'mode',
  'why',
  'status',
  'written',
  'deleted',
  'rejected',
  'requests',
  'seconds',
];

/** A run as a table, and its problems below, each on a line of its own. `width` is the terminal's, in columns. */
export function renderSummary(summary: RunSummary, width: number | null): string {
  const rows = summary.streams.map((stream) => [
    stream.environment,
    stream.stream,
    stream.mode,
    stream.reason,
    stream.status,
    stream.rows_written,
    stream.rows_deleted,
    stream.rows_rejected,
    stream.requests,
    Number(stream.seconds.toFixed(1)),
  ]);
  const table = rows.length === 0 ? [] : [renderTable(HEAD, rows, width)];
  return `${[...table, ...problems(summary), outcome(summary)].join('\n')}\n`;
}

function problems({ streams, missing }: RunSummary): string[] {
  return [
    ...streams
      .filter((stream) => stream.error !== null)
      .map((stream) => `${stream.environment}, ${stream.stream}: ${stream.error}`),
    ...streams
      .filter((stream) => stream.rows_late > 0)
      .map(
        (stream) =>
          `${stream.environment}, ${stream.stream}: ${stream.rows_late} rows came later than the overlap allows for: set a longer --overlap`,
      ),
    ...missing.map((name) => `${name} is no longer listed: its rows stay as they were`),
    ...streams
      .filter((stream) => stream.rejected_standing > 0)
      .map(
        (stream) =>
          `${stream.environment}, ${stream.stream}: ${stream.rejected_standing} rows stand rejected: see the table rejected_rows; they leave once the source has mended or dropped them, those without a key with the next scan (--full)`,
      ),
  ];
}

function outcome({ run, status, rows_written, rows_deleted, requests }: RunSummary): string {
  return `run ${run} ${OUTCOMES[status]}: ${rows_written} rows written, ${rows_deleted} deleted, ${requests} requests`;
}

const OUTCOMES: Readonly<Record<RunSummary['status'], string>> = {
  done: 'is done',
  problems: 'ended with problems',
  refused: 'was refused',
  stopped: 'stopped at --max-requests, the next one goes on',
  interrupted: 'was interrupted, the next one goes on',
};
