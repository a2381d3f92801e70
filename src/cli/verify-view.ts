import type { VerifyEvent } from '../api/verify-mirror.ts';
import { counted } from '../core/counted.ts';
import { shortenPair } from '../core/shorten-pair.ts';
import type { FieldValues } from '../verify/field-values.ts';
import type { StreamReport, VerifyFinding, VerifyReport } from '../verify/verify-report.ts';
import { type CommandArguments, type CommandIo, logSettings } from './command.ts';
import { waitText } from './progress-state.ts';
import { logRun, type ProgressView, showsProgress } from './progress-view.ts';
import { renderTable } from './rows-view.ts';

/** Shows the progress of a verification on stderr: one live line on a terminal, else only its waits. */
export async function watchVerify(io: CommandIo, args: CommandArguments): Promise<ProgressView<VerifyEvent>> {
  const log = await io.log(logSettings(args));
  const lines = logRun(log);
  const isLive = showsProgress(io, args);
  const draw = isLive ? (await import('log-update')).createLogUpdate(io.stderr) : null;
  return {
    onProgress(event) {
      if (event.type === 'progress')
        draw?.(`verifying: ${event.streamsDone} of ${event.streams} streams, ${event.requests} requests`);
      // The report shows it on one line.
      else if (event.type === 'failure') log.debug({ err: event.error }, event.error.message);
      else if (event.type === 'wait' && draw !== null) draw(waitText(event));
      else lines.onProgress(event);
    },
    close: () => draw?.clear(),
  };
}

/** The most findings shown per stream; `--json` has all. */
const MAX_SHOWN = 10;

export function renderVerify(report: VerifyReport, width: number | null, verbose = false): string {
  return [
    ...table(report, width),
    ...problems(report),
    ...groupByStream(report.findings.filter(({ what }) => what !== 'unsynced')),
    ...underHeading('possible, not checked again:', report.possible),
    ...pendingLines(report, verbose),
    ...(report.repair?.not_repaired ?? []).map((what) => `not repaired: ${what}`),
    ...report.not_looked_at.map((what) => `not checked: ${what}`),
    answer(report),
    '',
  ].join('\n');
}

/** A table of more streams shows only those with a difference. */
const MAX_STREAMS = 12;

/** With many streams, equal ones are only counted, and unsynced ones are listed below the table. */
function table({ depth, streams }: VerifyReport, width: number | null): string[] {
  const isEqual = ({ status, pending }: StreamReport): boolean => status === 'equal' && pending === 0;
  const isLong = streams.length > MAX_STREAMS;
  const shown = isLong ? streams.filter((each) => !isEqual(each) && each.status !== 'unsynced') : streams;
  const rows = shown.map((stream) => [stream.environment, stream.stream, stream.rows, result(stream)]);
  const head = ['environment', 'stream', depth === 'count' ? 'tables' : 'rows', 'result'];
  const others = isLong ? streams.filter(isEqual).length : 0;
  const more = shown.length === 0 ? '' : 'more ';
  return [
    ...(rows.length === 0 ? [] : [renderTable(head, rows, width)]),
    ...(others === 0 ? [] : [others === 1 ? `1 ${more}stream is equal` : `${others} ${more}streams are equal`]),
  ];
}

const NUMBERS = ['missing', 'extra', 'unequal', 'possible', 'pending'] as const;

/** `3 missing, 1 extra`, preceded by the status unless the numbers imply it. */
function result(stream: StreamReport): string {
  const numbers = NUMBERS.filter((name) => stream[name] > 0).map((name) => `${stream[name]} ${name}`);
  const isSaid = ['different', 'unsure'].includes(stream.status);
  return [...(isSaid ? [] : [stream.status]), ...numbers].join(', ');
}

function problems({ streams }: VerifyReport): string[] {
  return [
    ...streams.flatMap(({ environment, stream, status, error }) => [
      ...(status === 'unavailable' ? [`${environment}, ${stream}: not live at the source (404), its rows stay`] : []),
      ...(error === null ? [] : [`${environment}, ${stream}: could not be read: ${error}`]),
    ]),
    ...byEnvironment(streams, 'unsynced', 'never fully synced, run `obsync sync`'),
    ...byEnvironment(streams, 'stopped', 'not fully compared'),
  ];
}

/** One line for all streams of an environment with the same status. */
function byEnvironment(streams: readonly StreamReport[], status: StreamReport['status'], what: string): string[] {
  const all = Map.groupBy(
    streams.filter((stream) => stream.status === status),
    ({ environment }) => environment,
  );
  return [...all].map(([environment, of]) => `${environment}, ${what}: ${of.map(({ stream }) => stream).join(', ')}`);
}

function groupByStream(findings: readonly VerifyFinding[]): string[] {
  const groups = Map.groupBy(findings, ({ environment, stream }) => `${environment}, ${stream}:`);
  return [...groups].flatMap(([name, all]) => [
    name,
    ...all.slice(0, MAX_SHOWN).map(line),
    ...(all.length > MAX_SHOWN ? [`  … and ${all.length - MAX_SHOWN} more, --json for all`] : []),
  ]);
}

function line({ what, key, fields, values, why, repaired }: VerifyFinding): string {
  const id = Object.values(key).join(' → ');
  const differing = fields.length === 0 ? '' : `: ${fields.map((name) => fieldText(name, values)).join(', ')}`;
  const reason = repaired ? ' (repaired)' : why === null ? '' : ` (${why})`;
  return `  ${what}${id === '' ? '' : ` ${id}`}${differing}${reason}`;
}

/** `name "orders" → "refunds"`: what the mirror has, and what the source has. */
function fieldText(name: string, values: VerifyFinding['values']): string {
  const found = values.find(({ field }) => field === name);
  if (found === undefined) return name;
  return `${name} ${shortenPair([valueText(found.mirror), valueText(found.source)], MAX_VALUE_CHARACTERS).join(' → ')}`;
}

const MAX_VALUE_CHARACTERS = 60;

/** Texts of a report are printable already, so nothing is escaped. */
function valueText(value: FieldValues['mirror']): string {
  if (typeof value === 'string') return `"${value}"`;
  if (typeof value !== 'object' || value === null) return String(value);
  return `(${Object.entries(value)
    .map(([name, each]) => `${name} ${valueText(each)}`)
    .join(', ')})`;
}

function underHeading(heading: string, findings: readonly VerifyFinding[]): string[] {
  return findings.length === 0 ? [] : [heading, ...groupByStream(findings).map((text) => `  ${text}`)];
}

/** Pending differences by reason. Usually the source has just changed, so they are only counted unless `verbose`. */
function pendingLines({ pending }: VerifyReport, verbose: boolean): string[] {
  const kinds = Map.groupBy(pending, ({ why }) => why ?? '');
  return [...kinds].flatMap(([why, all]) => {
    const heading = `pending: ${why}; ${whenSynced(all)}`;
    if (!verbose) return [`${heading}; --verbose lists them`];
    return underHeading(
      `${heading}:`,
      all.map((finding) => ({ ...finding, why: null })),
    );
  });
}

/** Scores are read once per clock hour (R22): another sync in the same hour reads none. */
function whenSynced(pending: readonly VerifyFinding[]): string {
  const scores = pending.filter(({ stream }) => stream === 'asset_health_scores').length;
  if (scores === pending.length) return 'a sync in a later hour fetches them';
  return scores === 0 ? 'the next sync fetches them' : 'the next sync fetches them (scores: a sync in a later hour)';
}

function answer(report: VerifyReport): string {
  const { equal, depth, findings, streams, pending } = report;
  const spent = counted(report.requests, 'request');
  const rows = streams.reduce((sum, stream) => sum + stream.rows, 0);
  const compared = depth === 'count' ? `${counted(rows, 'table')} counted` : `${counted(rows, 'row')} compared`;
  const repaired = findings.filter((finding) => finding.repaired).length;
  const already = repaired > 0 ? `, ${repaired} repaired: run verify again` : '';
  if (equal === null) return `not finished: ${noVerdict(report)}${already}, ${compared}, ${spent}`;
  const but = pending.length === 0 ? '' : ', except for what the next sync fetches';
  if (equal && repaired > 0) return `${EQUAL[depth]} now${but}: ${counted(repaired, 'difference')} repaired, ${spent}`;
  if (equal) return `${EQUAL[depth]}${but}: ${compared}, ${spent}`;
  return `the mirror does not equal the source: ${openFindings(report)}, ${spent}${advice(report, repaired)}`;
}

function noVerdict({ streams, not_looked_at: unlooked }: VerifyReport): string {
  const possible = streams.reduce((sum, stream) => sum + stream.possible, 0);
  if (possible > 0) return `${counted(possible, 'difference')} possible, not checked again`;
  return unlooked.some((what) => what.startsWith('environment '))
    ? 'an environment cannot be read'
    : 'no difference so far';
}

/** `2 differences, 40 possible ones, 7 streams never fully synced` */
function openFindings({ findings, streams }: VerifyReport): string {
  const open = findings.filter(({ repaired, what }) => !repaired && what !== 'unsynced').length;
  const unsynced = streams.filter(({ status }) => status === 'unsynced').length;
  const possible = streams.reduce((sum, stream) => sum + stream.possible, 0);
  return [
    ...(open > 0 ? [counted(open, 'difference')] : []),
    ...(possible > 0 ? [`${possible} possible, not checked again`] : []),
    ...(unsynced > 0 ? [`${counted(unsynced, 'stream')} never fully synced`] : []),
  ].join(', ');
}

function advice({ repair, error, findings }: VerifyReport, repaired: number): string {
  if (repair !== null)
    return error === null
      ? `, ${repaired} repaired`
      : '; the repair was interrupted and what it wrote stays: run it again';
  const isUnsynced = findings.some(({ what }) => what === 'unsynced');
  const isDifferent = findings.some(({ what }) => what !== 'unsynced');
  return [
    ...(isUnsynced ? ['run `obsync sync`'] : []),
    ...(isDifferent ? ['run with --repair to fix them'] : []),
  ].reduce((text, each) => `${text}; ${each}`, '');
}

const EQUAL: Readonly<Record<VerifyReport['depth'], string>> = {
  count: 'the number of tables is the same',
  ids: 'the mirror has the same ids as the source',
  rows: 'the mirror equals the source',
};
