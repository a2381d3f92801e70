import type { AccountEnvironmentStatus, AccountStatus, AllStatusReport } from '../api/all-status.ts';
import { counted } from '../core/counted.ts';
import type { Instant } from '../core/time/instant.ts';
import { type FittingColumn, renderFitting } from './rows-view.ts';
import { minuteText, span } from './words.ts';

export function renderAllStatus(report: AllStatusReport, width: number | null): string {
  const { accounts, workers } = report;
  const rows = accounts.flatMap(({ account, environments }) => environments.map((each) => ({ account, ...each })));
  return [
    `${counted(accounts.length, 'account')}, ${counted(rows.length, 'environment')}, ${counted(workers.length, 'worker')}`,
    ...(rows.length === 0 ? [] : [renderFitting(columnsAt(report.checked_at), rows, width)]),
    ...accounts.flatMap(problemsOf),
    ...workers.map(
      ({ host, pid, running, concurrency }) => `worker ${host} ${pid}: ${running} of ${counted(concurrency, 'sync')}`,
    ),
    '',
  ].join('\n');
}

function columnsAt(now: Instant): readonly FittingColumn<AccountEnvironmentStatus & { account: string }>[] {
  return [
    { head: 'account', cell: ({ account }) => account },
    { head: 'environment', cell: ({ environment }) => environment },
    { head: 'age', cell: ({ age_seconds: seconds }) => (seconds === null ? 'never' : span(seconds)) },
    { head: 'last run', cell: ({ status }) => status ?? '' },
    { head: 'next run', cell: ({ next_run }) => nextText(next_run, now), spare: 1 },
    { head: 'worker', cell: ({ worker }) => worker ?? '', spare: 2 },
  ];
}

function nextText(next: Instant | null, now: Instant): string {
  if (next === null) return 'never: no cron expression';
  return next <= now ? 'now' : minuteText(next);
}

function problemsOf({ account, error, environments }: AccountStatus): string[] {
  const own = error === null ? [] : [`${account}: ${error}`];
  return [
    ...own,
    ...environments.flatMap((each) => (each.error === null ? [] : [`${account}, ${each.environment}: ${each.error}`])),
  ];
}
