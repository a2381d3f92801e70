import { openAlerts, type SnoozeOptions, snoozeAlert, type TestAlertsOptions, testAlerts } from '../api/alerts.ts';
import type { OpenAlert } from '../core/alerts/delivery.ts';
import { SyncError } from '../core/errors.ts';
import { type CommandArguments, type CommandIo, commandOfActions } from './command.ts';
import { libraryOptions, mirrorOptions } from './library-options.ts';
import { printReport } from './print-report.ts';
import { type FittingColumn, renderFitting } from './rows-view.ts';
import { minuteText } from './words.ts';

export const alerts = commandOfActions('alerts', { list, test, snooze });

async function list(args: CommandArguments, io: CommandIo): Promise<number> {
  const report = await openAlerts(mirrorOptions(args));
  printReport(report, args, io, ({ alerts: open }, width) =>
    open.length === 0 ? 'no alert is open\n' : `${renderFitting(COLUMNS, open, width)}\n`,
  );
  return 0;
}

const COLUMNS: readonly FittingColumn<OpenAlert>[] = [
  { head: 'key', cell: ({ key }) => key },
  { head: 'alert', cell: ({ title }) => title, spare: 2 },
  { head: 'rule', cell: ({ rule }) => rule, spare: 1 },
  { head: 'begun', cell: ({ begun_at }) => minuteText(begun_at) },
  {
    head: 'sent',
    cell: ({ silent, snoozed_until }) =>
      silent === 1 ? 'no' : snoozed_until === null ? 'yes' : `snoozed until ${minuteText(snoozed_until)}`,
  },
];

async function test(args: CommandArguments, io: CommandIo): Promise<number> {
  const name = args['key'];
  if ((name === undefined) === (args['all'] !== true))
    throw new SyncError('usage', 'alerts test needs the name of a channel, or --all');
  const { alerts: given, caFile } = libraryOptions(args);
  const report = await testAlerts({ alerts: given, caFile, name } as TestAlertsOptions);
  printReport(report, args, io, ({ channels }) =>
    channels.map(({ channel, type, error }) => `${channel} (${type}): ${error ?? 'delivered'}\n`).join(''),
  );
  return report.channels.every(({ error }) => error === null) ? 0 : 1;
}

async function snooze(args: CommandArguments, io: CommandIo): Promise<number> {
  const options = { ...mirrorOptions(args), name: args['key'], for: args['for'] } as SnoozeOptions;
  const report = await snoozeAlert(options);
  printReport(report, args, io, ({ key, until }) => `no reminders of ${key} until ${minuteText(until)}\n`);
  return 0;
}
