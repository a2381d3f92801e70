import { type ForecastReport, plan } from '../api/plan.ts';
import { closeAfter } from '../core/close-after.ts';
import { counted } from '../core/counted.ts';
import type { StreamForecast } from '../sync/forecast.ts';
import { serviceOptions } from './library-options.ts';
import { printReport } from './print.ts';
import { watchRun } from './progress-view.ts';
import { renderTable } from './rows-view.ts';
import { untilSignal } from './signals.ts';
import { modeText } from './words.ts';

export const planCommand = untilSignal('a long read: nothing was changed', async (args, io, { signal }) => {
  const options = { ...serviceOptions(args, io), signal };
  const report = await closeAfter(await watchRun(io, args), ({ onProgress }) => plan({ ...options, onProgress }));
  printReport(report, args, io, renderForecast);
  return 0;
});

const HEAD = ['environment', 'stream', 'mode', 'requests'];

export function renderForecast(report: ForecastReport, width: number | null): string {
  const { streams } = report;
  const most = streams.reduce((greatest, { requests }) => Math.max(greatest, requests), 0);
  const rows = streams.map((stream) => [
    stream.environment,
    stream.stream,
    modeText(stream.mode, stream.reason),
    report.at_least ? countText(stream, most) : stream.requests,
  ]);
  const table = rows.length === 0 ? [] : [renderTable(HEAD, rows, width)];
  return `${[...table, ...remarks(report), ...outcome(report)].join('\n')}\n`;
}

/** `12+` means at least 12. The digits of all streams are aligned; `most` is their greatest number. */
function countText({ requests, at_least }: StreamForecast, most: number): string {
  const text = String(requests).padStart(Math.max(String(most).length, 'requests'.length - 1));
  return `${text}${at_least ? '+' : ' '}`;
}

function remarks({ streams, missing, at_least, mirror_exists }: ForecastReport): string[] {
  return [
    ...streams.flatMap((stream) => {
      const remark = REMARKS[stream.status];
      return remark === undefined ? [] : [`${stream.environment}, ${stream.stream}: ${remark}`];
    }),
    ...missing.map((name) => `${name} is no longer listed by the source: the sync skips it`),
    ...(mirror_exists ? [] : ['there is no mirror yet: the number of requests is unknown until the first sync']),
    ...(at_least ? ['+ means at least: the list was never read completely, or was read with larger pages'] : []),
  ];
}

const REMARKS: Readonly<Partial<Record<StreamForecast['status'], string>>> = {
  denied: 'the last request was denied (403), the next one probably too',
  unavailable: 'it was not live (404) at the last request, and probably still is not',
  waiting: 'it waits for the first scan of a stream that is not selected',
  held: 'deletions are held back; --allow-shrink applies them',
};

function outcome(report: ForecastReport): string[] {
  const plus = report.not_counted.map((what) => `, plus ${what}`).join('');
  return [
    `the next sync needs ${report.at_least ? 'at least ' : ''}${counted(report.requests, 'request')}, one of them for the list of environments${plus}`,
    ...stop(report),
    ...wholeDay(report),
    waiting(report),
  ];
}

function stop({ at_least, max_requests, runs }: ForecastReport): string[] {
  if (runs === 1) return [];
  const stops = `it stops at --max-requests ${max_requests}`;
  if (runs === null) return [`${stops}, which is too few: it would take over 100 runs`];
  return [`${stops}: all is up to date after ${at_least ? 'at least ' : ''}${runs} runs`];
}

function wholeDay({ day }: ForecastReport): string[] {
  if (day === null) return [];
  const scans = day.scan_requests === 0 ? 'no scans' : `${day.scan_requests} of them for scans (--full-every)`;
  return [`${day.syncs} hourly syncs a day need ${counted(day.requests, 'request')} if nothing changes, ${scans}`];
}

function waiting({ seconds, quota, max_wait_seconds: maxWaitSeconds }: ForecastReport): string {
  if (quota === null) return 'it is unknown how long it waits for quota: no response has reported one';
  const of = quota.limit === null ? '' : ` of ${quota.limit} in ${durationText(quota.window_seconds)}`;
  const left = `${quota.remaining} requests${of} are left`;
  if (seconds === null) return `it is unknown how long it waits for quota: ${left}`;
  if (seconds === 0) return `it does not wait for quota: ${left}`;
  if (Math.min(seconds, Math.max(quota.reset_seconds, quota.window_seconds)) > maxWaitSeconds)
    return `it would wait for quota longer than --max-wait ${maxWaitSeconds}, so it ends early: ${left}`;
  return `it waits ${durationText(seconds)} for quota: ${left}, plus the response times of the service`;
}

function durationText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
