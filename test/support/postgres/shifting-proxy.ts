import { type TcpProxy, tcpProxy } from './tcp-proxy.ts';
import { messageReader, type WireMessage } from './wire.ts';

/** A proxy that makes the server's clock look wrong. */
export interface ShiftingProxy extends Pick<TcpProxy, 'url' | 'close'> {
  /** Sets how many seconds the server's clock seems to be fast, also on open connections. Negative: slow. */
  shift(seconds: number): void;
}

/**
 * Rewrites every statement that reads the clock. A column default of `now()`, as in `obsync_accounts`, keeps the shift
 * of the moment when it was created, so create that schema through the proxy. Mirrors and quotas have no such defaults.
 */
export async function shiftingProxy(serverUrl: string, seconds = 0): Promise<ShiftingProxy> {
  let shiftSeconds = seconds;
  const { url, close } = await tcpProxy(serverUrl, (client, upstream) => {
    const read = messageReader(true);
    client.on('data', (chunk) => {
      upstream.write(Buffer.concat(read(chunk).map((message) => shifted(message, shiftSeconds))));
    });
    upstream.on('data', (data) => client.write(data));
  });
  return {
    url,
    shift(to) {
      shiftSeconds = to;
    },
    close,
  };
}

/** Every expression for the current time that our statements use. */
const READING =
  /\b(?:(?:pg_catalog\.)?(?:now|(?:clock|statement|transaction)_timestamp)\s*\(\s*\)|current_timestamp\b)/gi;

/** A message with a statement: `Query` is its text, `Parse` a name, the text and types. */
function shifted({ type, bytes }: WireMessage, seconds: number): Buffer {
  if (type !== 'Q' && type !== 'P') return bytes;
  const from = type === 'Q' ? 5 : bytes.indexOf(0, 5) + 1;
  const to = bytes.indexOf(0, from);
  // Without quotes, because it may occur inside a string.
  const text = bytes.toString('utf8', from, to).replace(READING, `($& + make_interval(secs => ${seconds}))`);
  const message = Buffer.concat([bytes.subarray(0, from), Buffer.from(text), bytes.subarray(to)]);
  message.writeInt32BE(message.length - 1, 1);
  return message;
}
