import { openAlerts, type SnoozeOptions, snoozeAlert, type TestAlertsOptions, testAlerts } from '../api/alerts.ts';
import type { OpenAlert } from '../core/alerts/delivery.ts';
import { usageError } from '../core/errors.ts';
import { commandOfActions } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printingCommand } from './print.ts';
import { type FittingColumn, renderFitting } from './rows-view.ts';
import { minuteText } from './words.ts';

const list = printingCommand(
  (args) => openAlerts(libraryOptions(args)),
  ({ alerts: open }, width) => (open.length === 0 ? 'no alert is open\n' : `${renderFitting(COLUMNS, open, width)}\n`),
);

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

const test = printingCommand(
  (args) => {
    const name = args['key'];
    if ((name === undefined) === (args['all'] !== true))
      throw usageError('alerts test needs the name of a channel, or --all');
    return testAlerts({ ...libraryOptions(args), name } as TestAlertsOptions);
  },
  ({ channels }) =>
    channels.map(({ channel, type, error }) => `${channel} (${type}): ${error ?? 'delivered'}\n`).join(''),
  ({ channels }) => (channels.every(({ error }) => error === null) ? 0 : 1),
);

const snooze = printingCommand(
  (args) => snoozeAlert({ ...libraryOptions(args), name: args['key'] } as SnoozeOptions),
  ({ key, until }) => `no reminders of ${key} until ${minuteText(until)}\n`,
);

export const alertsCommand = commandOfActions('alerts', { list, test, snooze });
