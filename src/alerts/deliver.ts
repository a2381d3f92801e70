import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AlertChannel } from '../core/alerts/channel.ts';
import { openDispatcher } from '../source/dispatcher.ts';
import { proxiesOf } from '../source/proxies.ts';
import { errorCode } from '../source/send.ts';
import {
  alertmanagerBody,
  cloudEvent,
  type OutgoingAlert,
  type RequestBody,
  slackBody,
  webhookBody,
} from './formats.ts';

/** How the requests of channels are sent. */
export interface DeliveryNetwork {
  /** Additional certificates in PEM. */
  readonly ca: string | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The time limit of one delivery, in milliseconds. */
  readonly timeoutMs: number;
}

/** A channel did not accept a message. The text never contains an address (as R25 for the token). */
export class DeliveryError extends Error {
  /** Whether only this message failed: others may still be accepted. */
  readonly isOfMessage: boolean;
  /** Whether the channel refused this very message, so it would refuse it again. */
  readonly isRefused: boolean;

  constructor(message: string, { isOfMessage = false, isRefused = false } = {}) {
    super(message);
    this.isOfMessage = isOfMessage || isRefused;
    this.isRefused = isRefused;
  }
}

/**
 * Delivers one message.
 * @throws DeliveryError
 */
export async function deliver(
  channel: AlertChannel,
  alert: OutgoingAlert,
  network: DeliveryNetwork,
  stop: AbortSignal,
): Promise<void> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(network.timeoutMs)]);
  switch (channel.type) {
    case 'slack':
      return post(channel.url, slackBody(alert), network, signal);
    case 'webhook':
      return post(channel.url, webhookBody(alert, channel.secret, Date.now()), network, signal);
    case 'alertmanager':
      return post(
        `${channel.url.replace(/\/(api\/v2\/alerts\/?)?$/, '')}/api/v2/alerts`,
        alertmanagerBody(alert),
        network,
        signal,
      );
    case 'exec':
      return runProgram(channel, JSON.stringify(cloudEvent(alert)), network, signal);
    case 'ping':
      return;
  }
}

/** Tells a service such as Healthchecks that a run began, or with which exit code it ended. */
export function ping(
  url: string,
  { path, body }: { readonly path: string; readonly body: string },
  network: DeliveryNetwork,
  stop: AbortSignal,
): Promise<void> {
  const target = new URL(url);
  target.pathname = `${target.pathname.replace(/\/$/, '')}/${path}`;
  const signal = AbortSignal.any([stop, AbortSignal.timeout(network.timeoutMs)]);
  return post(target.href, { body, headers: { 'content-type': 'text/plain; charset=utf-8' } }, network, signal);
}

async function post(
  address: string,
  { body, headers }: RequestBody,
  network: DeliveryNetwork,
  signal: AbortSignal,
): Promise<void> {
  const { origin, pathname, search, username, password } = new URL(address);
  const user = [username, password].map(decodeURIComponent).join(':');
  const authorization = user === ':' ? {} : { authorization: `Basic ${Buffer.from(user).toString('base64')}` };
  const { ca, timeoutMs, env } = network;
  const dispatcher = openDispatcher({ proxies: proxiesOf(origin, env), ca, concurrency: 1, timeoutMs });
  try {
    const sent = { origin, path: pathname + search, method: 'POST', body, signal } as const;
    const answer = await dispatcher.request({
      ...sent,
      headers: { 'user-agent': 'obsync', ...authorization, ...headers },
    });
    await answer.body.dump();
    const { statusCode: status } = answer;
    if (status >= 200 && status < 300) return;
    const isRefused = status >= 400 && status < 500 && ![401, 403, 404, 408, 410, 429].includes(status);
    throw new DeliveryError(`it answered ${status}`, { isRefused });
  } catch (error) {
    if (error instanceof DeliveryError) throw error;
    const code = errorCode(error);
    throw new DeliveryError(
      signal.aborted ? 'it did not answer in time' : `the connection failed${code === '' ? '' : ` (${code})`}`,
    );
  } finally {
    await dispatcher.destroy();
  }
}

/** The program reads the message from stdin; exit code 0 means that it was delivered. */
async function runProgram(
  { program, args }: Extract<AlertChannel, { type: 'exec' }>,
  input: string,
  { env }: DeliveryNetwork,
  signal: AbortSignal,
): Promise<void> {
  const { OBSYNC_TOKEN: _, ...others } = env;
  const child = spawn(program, args, {
    env: others,
    stdio: ['pipe', 'ignore', 'ignore'],
    signal,
    killSignal: 'SIGKILL',
  });
  // A program that reads nothing may have ended already.
  child.stdin.on('error', () => {}).end(input);
  const [code] = await once(child, 'close').catch((error: unknown) => {
    throw new DeliveryError(
      signal.aborted ? 'the program did not end in time' : `the program cannot be run (${errorCode(error)})`,
    );
  });
  if (code !== 0) throw new DeliveryError(`the program exited with code ${code}`, { isOfMessage: true });
}
