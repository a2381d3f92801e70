import Table from 'cli-table3';
import type { RunSummary } from '../sync/summary.ts';

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

/** A run as a table, and its problems below, each on a line of its own. */
export function renderSummary(summary: RunSummary): string {
  const table = new Table({
    head: HEAD,
    style: { head: [], border: [] },
    colAligns: HEAD.map((_, i) => (i < 5 ? 'left' : 'right')),
  });
  for (const stream of summary.streams) {
    const { environment, mode, reason, status, rows_written, rows_deleted, rows_rejected, requests, seconds } = stream;
    table.push([
      environment,
      stream.stream,
      mode,
      reason,
      status,
      rows_written,
      rows_deleted,
      rows_rejected,
      requests,
      seconds.toFixed(1),
    ]);
  }
  return `${table.toString()}\n${[...problems(summary), outcome(summary)].join('\n')}\n`;
}

function problems({ streams, missing, rows_rejected }: RunSummary): string[] {
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
    ...(rows_rejected > 0 ? [`${rows_rejected} rows were rejected: see the table rejected_rows`] : []),
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
