import { CLOCK_TOLERANCE_SECONDS } from '../core/context.ts';
import { counted } from '../core/counted.ts';
import type { RunSummary, StreamSummary } from '../sync/summary.ts';
import { type FittingColumn, renderFitting } from './rows-view.ts';
import { modeText } from './words.ts';

/** With `verbose`, it also shows unchanged streams. */
export function renderSummary(summary: RunSummary, width: number | null, verbose = false): string {
  const environments = [...Map.groupBy(summary.streams, ({ env_id }) => env_id).values()];
  const busy = environments.filter((streams) => verbose || streams.some(hasWork));
  const idle = environments.length - busy.length;
  const others = busy.length === 0 ? '' : 'other ';
  return [
    ...busy.flatMap((streams) => [...environmentLines(streams, width, verbose), '']),
    ...(idle === 0 ? [] : [`nothing changed in ${counted(idle, `${others}environment`)}`]),
    ...problems(summary),
    outcome(summary),
    '',
  ].join('\n');
}

/** Whether a table would show anything beyond the run's error. */
export function hasSummaryTable({ status, streams, error }: RunSummary): boolean {
  return error === null || status === 'done' || streams.some(hasWork);
}

const WORK = ['rows_written', 'rows_deleted', 'rows_rejected', 'rows_late', 'rows_held', 'rejected_standing'] as const;

/** Streams that the run did not reach are counted in the run's own lines. */
function hasWork(stream: StreamSummary): boolean {
  const { mode, status, pages } = stream;
  if (WORK.some((field) => stream[field] > 0)) return true;
  return status === 'stopped' ? mode !== 'none' && pages > 0 : status !== 'done';
}

function environmentLines(streams: readonly StreamSummary[], width: number | null, verbose: boolean): string[] {
  const [{ environment, env_id }] = streams as readonly [StreamSummary];
  const shown = verbose ? streams : streams.filter(hasWork);
  const idle = streams.length - shown.length;
  return [
    `${environment} (${env_id})`,
    renderFitting(columnsFor(shown), shown, width),
    ...(idle === 0 ? [] : [`nothing changed in ${counted(idle, 'other stream')} (--verbose shows them)`]),
  ];
}

function columnsFor(streams: readonly StreamSummary[]): FittingColumn<StreamSummary>[] {
  const changes = COUNTS.filter(([, field]) => streams.some((stream) => stream[field] > 0));
  const isDone = streams.every(({ status }) => status === 'done');
  return [
    { head: 'stream', cell: ({ stream }) => stream },
    { head: 'mode', cell: ({ mode, reason }) => modeText(mode, reason) },
    ...(isDone ? [] : [{ head: 'status', cell: ({ status }: StreamSummary) => status }]),
    ...changes.map(([head, field]) => ({ head, cell: (stream: StreamSummary) => stream[field] })),
    { head: 'requests', cell: ({ requests }) => requests, spare: 1 },
    { head: 'seconds', cell: ({ seconds }) => Number(seconds.toFixed(1)), spare: 2 },
  ];
}

const COUNTS = [
  ['written', 'rows_written'],
  ['deleted', 'rows_deleted'],
  ['rejected', 'rows_rejected'],
] as const;

const REJECTED =
  'rejected: see the table rejected_rows. An entry disappears once the source has corrected or deleted the row; for a row without a key, after the next scan (--full)';

export function problems({ streams, missing, streams_not_reached, clock_spread_seconds }: RunSummary): string[] {
  const remarks = (remarkOn: (stream: StreamSummary) => string | null): string[] =>
    streams.flatMap((stream) => {
      const remark = remarkOn(stream);
      return remark === null ? [] : [`${stream.environment}, ${stream.stream}: ${remark}`];
    });
  return [
    ...(clock_spread_seconds > CLOCK_TOLERANCE_SECONDS
      ? [
          `the Date headers of the responses are up to ${counted(Math.round(clock_spread_seconds / 3600), 'hour')} apart: a clock of the service or of a proxy is wrong. obsync uses the earliest one, so it misses nothing but reads more than necessary`,
        ]
      : []),
    ...remarks(({ error }) => error),
    ...remarks(({ rows_late: late }) =>
      late > 0 ? `${counted(late, 'row')} arrived later than the overlap allows: set a longer --overlap` : null,
    ),
    ...missing.map((name) => `${name} is no longer listed by the source; its rows stay`),
    ...remarks(({ rejected_standing: rejected }) => (rejected > 0 ? `${counted(rejected, 'row')} ${REJECTED}` : null)),
    ...(streams_not_reached > 0 ? [`${counted(streams_not_reached, 'stream')} not reached`] : []),
  ];
}

function outcome({ run, status, rows_written, rows_deleted, requests }: RunSummary): string {
  return `run ${run} ${OUTCOMES[status]}: ${counted(rows_written, 'row')} written, ${rows_deleted} deleted, ${counted(requests, 'request')}`;
}

/** The run's error says what stopped it and that the next run continues. */
const OUTCOMES: Readonly<Record<RunSummary['status'], string>> = {
  done: 'is done',
  problems: 'ended with problems',
  refused: 'was refused',
  stopped: 'stopped',
  interrupted: 'was interrupted',
};
