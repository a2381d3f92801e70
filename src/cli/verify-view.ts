import { createLogUpdate } from 'log-update';
import type { SourceEvent } from '../core/source.ts';
import type { VerifyProgress } from '../sync/verify.ts';
import type { Finding, VerifyReport } from '../sync/verify-report.ts';
import type { Io } from './command.ts';
import { renderTable } from './rows-view.ts';

/** Shows on stderr how far a verification has come: one live line on a terminal, else only what holds it up. */
export interface VerifyView {
  onProgress(progress: VerifyProgress): void;
  onSourceEvent(event: SourceEvent): void;
  end(): void;
}

export function watchVerify(io: Io, level: string): VerifyView {
  const log = io.log(level);
  const isLive = io.errIsTerminal && !['debug', 'trace'].includes(level);
  const draw = isLive ? createLogUpdate(process.stderr) : null;
  return {
    onProgress: ({ requests, streamsDone, streams }) =>
      draw?.(`verifying: ${streamsDone} of ${streams} streams, ${requests} requests`),
    onSourceEvent(event) {
      if (event.type === 'request') log.debug(`${event.status} ${event.path} ${Math.round(event.durationMs)} ms`);
      else if (draw !== null) draw(`waiting ${(event.delayMs / 1000).toFixed(1)} s (${event.reason})`);
      else log.info(`waiting ${(event.delayMs / 1000).toFixed(1)} s (${event.reason})`);
    },
    end: () => draw?.clear(),
  };
}

const HEAD = ['missing', 'extra', 'unequal', 'pending', 'requests'];

/** Findings of one stream shown to a person; `--json` has all. */
const MOST_SHOWN = 10;

/** A verification as a table, what was found below it, and the answer in the last line. */
export function renderVerify(report: VerifyReport, width: number | null): string {
  const rows = report.streams.map((stream) => [
    stream.environment,
    stream.stream,
    stream.status,
    stream.rows,
    stream.missing,
    stream.extra,
    stream.unequal,
    stream.pending,
    stream.requests,
  ]);
  return [
    ...(rows.length === 0
      ? []
      : [
          renderTable(
            ['environment', 'stream', 'status', report.depth === 'count' ? 'tables' : 'rows', ...HEAD],
            rows,
            width,
          ),
        ]),
    ...problems(report),
    ...grouped(report.findings),
    ...pendingLines(report),
    ...(report.repair?.not_repaired ?? []).map((what) => `not repaired: ${what}`),
    ...report.not_looked_at.map((what) => `not looked at: ${what}`),
    answer(report),
    '',
  ].join('\n');
}

function problems({ streams }: VerifyReport): string[] {
  const stopped = Map.groupBy(
    streams.filter(({ status }) => status === 'stopped'),
    ({ environment }) => environment,
  );
  return [
    ...streams.flatMap(({ environment, stream, status, error, not_looked_at_again: unlooked }) => [
      ...(status === 'unavailable' ? [`${environment}, ${stream}: not live at the source (404), its rows stay`] : []),
      ...(error === null ? [] : [`${environment}, ${stream}: could not be read: ${error}`]),
      ...(unlooked > 0
        ? [`${environment}, ${stream}: ${counted(unlooked, 'difference')} not looked at again, which may be none`]
        : []),
    ]),
    ...[...stopped].map(
      ([environment, all]) => `not looked at to the end: ${environment}: ${all.map(({ stream }) => stream).join(', ')}`,
    ),
  ];
}

/** The first findings of each stream, under its name. */
function grouped(findings: readonly Finding[]): string[] {
  const groups = Map.groupBy(findings, ({ environment, stream }) => `${environment}, ${stream}:`);
  return [...groups].flatMap(([name, all]) => [
    name,
    ...all.slice(0, MOST_SHOWN).map(line),
    ...(all.length > MOST_SHOWN ? [`  … and ${all.length - MOST_SHOWN} more, --json for all`] : []),
  ]);
}

function line({ what, key, fields, why, repaired }: Finding): string {
  const id = Object.values(key).map(printable).join(' → ');
  const apart = fields.length === 0 ? '' : `: ${fields.join(', ')}`;
  const reason = repaired ? ' (repaired)' : why === null ? '' : ` (${why})`;
  return `  ${what}${id === '' ? '' : ` ${id}`}${apart}${reason}`;
}

/** What would break the line, or steer the terminal. */
function printable(id: string): string {
  return id.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '�');
}

function pendingLines({ pending }: VerifyReport): string[] {
  if (pending.length === 0) return [];
  const lines = grouped(pending).map((text) => `  ${text}`);
  return ['changed at the source since the last sync, the next sync brings them:', ...lines];
}

function answer(report: VerifyReport): string {
  const { equal, depth, findings, streams, pending } = report;
  const spent = counted(report.requests, 'request');
  const rows = streams.reduce((sum, stream) => sum + stream.rows, 0);
  const compared = counted(rows, depth === 'count' ? 'table counted' : 'row compared');
  if (equal === null) return `not finished: no difference so far, ${compared}, ${spent}`;
  const but = pending.length === 0 ? '' : ', but for what changed since the last sync';
  const repaired = findings.filter((finding) => finding.repaired).length;
  if (equal && repaired > 0) return `${EQUAL[depth]} now${but}: ${counted(repaired, 'difference repaired')}, ${spent}`;
  if (equal) return `${EQUAL[depth]}${but}: ${compared}, ${spent}`;
  const open = findings.length - repaired + report.not_listed;
  const cutOff = '; the repair was cut off, what it has written stays: run it again';
  const ended = report.error === null ? `, ${repaired} repaired` : cutOff;
  const advice = report.repair === null ? '; --repair writes what was found' : ended;
  return `the mirror does not equal the source: ${counted(open, 'difference')}, ${spent}${advice}`;
}

/** `1 row compared`, `2 rows compared`. */
function counted(count: number, what: string): string {
  const [noun = '', ...rest] = what.split(' ');
  return [count, count === 1 ? noun : `${noun}s`, ...rest].join(' ');
}

const EQUAL: Readonly<Record<VerifyReport['depth'], string>> = {
  count: 'the number of tables is the same',
  ids: 'the mirror holds the same ids as the source',
  rows: 'the mirror equals the source',
};
