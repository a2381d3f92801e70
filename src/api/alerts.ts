import { loadOpenAlerts } from '../../state/alerts/alert-store.ts';
import { type ChannelSender, DeliveryError, openSender } from '../alerts/deliver.ts';
import type { AlertChannel, AlertMessage } from '../core/alerts/alert.ts';
import type { OpenAlert } from '../core/alerts/delivery.ts';
import { closeAfter } from '../core/close-after.ts';
import { usageError } from '../core/errors.ts';
import { addSeconds, type Instant } from '../core/time/instant.ts';
import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { type AlertSettings, alertSettings } from '../settings/alert-settings.ts';
import { checkOptions } from '../settings/check-options.ts';
import { OptionError, readDuration } from '../settings/option-error.ts';
import type { MirrorOptions, OptionsNamed } from '../settings/options.ts';
import { readCertificates } from '../settings/read-certificates.ts';
import { clock } from '../settings/sync-settings.ts';
import { openStore, refuseNetworkFs } from './open-store.ts';

export interface AlertListReport {
  readonly alerts: readonly OpenAlert[];
}

export interface SnoozeReport {
  readonly key: string;
  /** Until then no reminders are sent. */
  readonly until: Instant;
}

/** The sample that each channel was sent; `error` is null if it was accepted. */
export interface AlertTestReport {
  readonly channels: readonly { readonly channel: string; readonly type: string; readonly error: string | null }[];
}

export interface TestAlertsOptions extends OptionsNamed<'alerts' | 'caFile'> {
  /** The name of a channel; all channels without it. */
  readonly name?: string | undefined;
}

export interface SnoozeOptions extends MirrorOptions, OptionsNamed<'for' | 'allowNetworkFs'> {
  /** The key of an open alert, or its beginning. */
  readonly name: string;
}

/** Lists the open alerts of a mirror. @throws SyncError */
export async function openAlerts(options: MirrorOptions = {}): Promise<AlertListReport> {
  checkOptions(options);
  const store = await openStore(givenAddress(options));
  return { alerts: await store.read(() => loadOpenAlerts()) };
}

/** Sends a sample to channels. @throws SyncError `usage` */
export async function testAlerts(options: TestAlertsOptions): Promise<AlertTestReport> {
  checkOptions(options);
  const { alerts, name, caFile } = options;
  if (alerts === undefined)
    throw new OptionError('alerts', 'there are no channels: write alerts into the file of --config');
  const settings = alertSettings(alerts);
  const chosen = settings.channels.filter((channel) => name === undefined || channel.name === name);
  if (chosen.length === 0) {
    const known = settings.channels.map((channel) => channel.name).join(', ');
    throw new OptionError('alerts', `there is no channel ${name ?? ''}: use one of ${known}`);
  }
  return closeAfter(openSender(readCertificates(caFile)), async (sender) => {
    const sent = chosen.map(async (channel) => ({
      ...{ channel: channel.name, type: channel.type, error: await sendSample(sender, channel, settings) },
    }));
    return { channels: await Promise.all(sent) };
  });
}

async function sendSample(
  sender: ChannelSender,
  channel: AlertChannel,
  { pageUrl }: AlertSettings,
): Promise<string | null> {
  const { signal } = new AbortController();
  const message = sampleOf(clock());
  try {
    if (channel.type === 'ping') await sender.ping(channel, { path: 'log', body: 'a test of obsync' }, signal);
    else await sender.deliver(channel, { message, key: `test-${message.begun_at}`, pageUrl, source: 'obsync' }, signal);
    return null;
  } catch (error) {
    if (error instanceof DeliveryError) return error.message;
    throw error;
  }
}

/** It begins and ends at once, so it stays open nowhere. */
function sampleOf(now: Instant): AlertMessage {
  return {
    ...{ alert: 'sample', event: 'end', rule: 'sample', kind: 'sample', environment: null, subject: 'sample' },
    facts: { name: 'sample', detail: 'Nothing is wrong.' },
    ...{ labels: {}, count: 1, names: ['sample'], begun_at: now, ended_at: now, impact: null },
  };
}

/**
 * Stops the reminders of an open alert for some time. Its end is sent anyway.
 * @throws SyncError `usage` if no open alert has the key, `locked` if a sync writes to the file
 */
export async function snoozeAlert(options: SnoozeOptions): Promise<SnoozeReport> {
  checkOptions(options);
  const { name } = options;
  if (typeof name !== 'string' || name === '') throw usageError('no alert: name its key, see obsync alerts list');
  const until = addSeconds(clock(), readDuration('for', options.for));
  const db = givenAddress(options);
  refuseNetworkFs({ ...options, db });
  const store = await openStore(db);
  // A mirror that is opened for writing is created if there is none.
  await store.read(() => loadOpenAlerts());
  return closeAfter(await store.open(new AbortController().signal), async (mirror) => {
    const keys = await mirror.state.snoozeAlerts(name, until);
    if (keys.length === 1) return { key: keys[0] ?? name, until };
    throw usageError(
      keys.length === 0
        ? `no open alert has the key ${name}: see obsync alerts list`
        : `${name} matches several alerts: type more of the key`,
    );
  });
}
