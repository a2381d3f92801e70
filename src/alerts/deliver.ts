import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AlertChannel } from '../core/alerts/alert.ts';
import { errorCode } from '../core/errors.ts';
import { openDispatcher } from '../source/dispatcher.ts';
import { proxiesOf } from '../source/proxies.ts';
import {
  alertmanagerBody,
  cloudEvent,
  type OutgoingAlert,
  type RequestBody,
  slackBody,
  teamsBody,
  webhookBody,
} from './formats.ts';

const DELIVERY_MS = 10_000;

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

export type ChannelSender = ReturnType<typeof openSender>;

/** Sends to channels, over one connection for each. `ca`: additional certificates, in PEM. */
export function openSender(ca: string | null) {
  const dispatchers = new Map<string, ReturnType<typeof openDispatcher>>();
  const closed = new AbortController();
  const dispatcherOf = ({ name }: Pick<AlertChannel, 'name'>, origin: string) => {
    const proxies = proxiesOf(origin, process.env);
    const options = { proxies, ca, concurrency: 1, timeoutMs: DELIVERY_MS };
    const opened = dispatchers.get(name) ?? openDispatcher(options, closed.signal);
    dispatchers.set(name, opened);
    return opened;
  };
  const limited = (stop: AbortSignal) => AbortSignal.any([stop, AbortSignal.timeout(DELIVERY_MS)]);
  return {
    /** Delivers one message. @throws DeliveryError */
    async deliver(channel: AlertChannel, alert: OutgoingAlert, stop: AbortSignal): Promise<void> {
      const signal = limited(stop);
      if (channel.type === 'exec') return runProgram(channel, JSON.stringify(cloudEvent(alert)), signal);
      const request = requestOf(channel, alert);
      if (request !== null) await post(request, dispatcherOf(channel, new URL(request.address).origin), signal);
    },
    /** Tells a service such as Healthchecks that a run began, or with which exit code it ended. */
    async ping(
      channel: { readonly name: string; readonly url: string },
      { path, body }: { readonly path: string; readonly body: string },
      stop: AbortSignal,
    ): Promise<void> {
      const target = new URL(channel.url);
      target.pathname = `${target.pathname.replace(/\/$/, '')}/${path}`;
      const headers = { 'content-type': 'text/plain; charset=utf-8' };
      await post({ address: target.href, body, headers }, dispatcherOf(channel, target.origin), limited(stop));
    },
    async close(): Promise<void> {
      closed.abort();
      await Promise.all([...dispatchers.values()].map((each) => each.destroy()));
    },
  };
}

type ChannelRequest = RequestBody & { readonly address: string };

/** Null for a channel that gets no messages. */
function requestOf(channel: Exclude<AlertChannel, { type: 'exec' }>, alert: OutgoingAlert): ChannelRequest | null {
  switch (channel.type) {
    case 'slack':
      return { address: channel.url, ...slackBody(alert) };
    case 'teams':
      return { address: channel.url, ...teamsBody(alert) };
    case 'webhook':
      return { address: channel.url, ...webhookBody(alert, channel.secret, Date.now()) };
    case 'alertmanager': {
      const address = `${channel.url.replace(/\/(api\/v2\/alerts\/?)?$/, '')}/api/v2/alerts`;
      return { address, ...alertmanagerBody(alert) };
    }
    case 'ping':
      return null;
  }
}

async function post(
  { address, body, headers }: ChannelRequest,
  dispatcher: ReturnType<typeof openDispatcher>,
  signal: AbortSignal,
): Promise<void> {
  const { origin, pathname, search, username, password } = new URL(address);
  const user = [username, password].map(decodeURIComponent).join(':');
  const authorization = user === ':' ? {} : { authorization: `Basic ${Buffer.from(user).toString('base64')}` };
  try {
    const { statusCode: status, body: answer } = await dispatcher.request({
      ...{ origin, path: pathname + search, method: 'POST', body, signal },
      headers: { 'user-agent': 'obsync', ...authorization, ...headers },
    });
    await answer.dump();
    if (status >= 200 && status < 300) return;
    const isRefused = status >= 400 && status < 500 && ![401, 403, 404, 408, 410, 429].includes(status);
    throw new DeliveryError(`it answered ${status}`, { isRefused });
  } catch (error) {
    if (error instanceof DeliveryError) throw error;
    const code = errorCode(error);
    throw new DeliveryError(
      signal.aborted ? 'it did not answer in time' : `the connection failed${code === '' ? '' : ` (${code})`}`,
    );
  }
}

/** The program reads the message from stdin; exit code 0 means that it was delivered. */
async function runProgram(
  { program, args }: Extract<AlertChannel, { type: 'exec' }>,
  input: string,
  signal: AbortSignal,
): Promise<void> {
  const { OBSYNC_TOKEN: _, OBSYNC_SERVE_TOKEN: __, ...env } = process.env;
  let code: unknown;
  try {
    const child = spawn(program, args, {
      env,
      stdio: ['pipe', 'ignore', 'ignore'],
      signal,
      killSignal: 'SIGKILL',
    });
    // A program that reads nothing may have ended already.
    child.stdin.on('error', () => {}).end(input);
    [code] = await once(child, 'close');
  } catch (error) {
    throw new DeliveryError(
      signal.aborted ? `${program} did not end in time` : `${program} cannot be run (${errorCode(error)})`,
    );
  }
  if (code !== 0) throw new DeliveryError(`${program} exited with code ${code}`, { isOfMessage: true });
}
