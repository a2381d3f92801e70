import { type TcpProxy, tcpProxy } from './tcp-proxy.ts';
import { messageReader, type WireMessage } from './wire.ts';

/** A way to a server whose clock seems to be off. */
export interface ShiftingProxy extends Pick<TcpProxy, 'url' | 'close'> {
  /**
   * Sets how far the server's clock seems to be ahead, in seconds; it is behind if this is negative. The clock jumps, also for connections
   * that are open.
   */
  shift(seconds: number): void;
}

/**
 * Whatever statement reads the clock gets it shifted. What a statement defines keeps the shift of that moment: columns of
 * `obsync_accounts` that are `now()` by default, such as when a worker was first seen. So create that schema through the
 * proxy; after a jump its defaults stay as they were. A mirror's schema and the rows of quotas have no such columns.
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

/** Every way to read the clock as a time with its zone. No statement reads it in another way. */
const READING =
  /\b(?:(?:pg_catalog\.)?(?:now|(?:clock|statement|transaction)_timestamp)\s*\(\s*\)|current_timestamp\b)/gi;

/** A message that asks something of the server: `Query`, which is a text, or `Parse`, which is a name, a text and types. */
function shifted({ type, bytes }: WireMessage, seconds: number): Buffer {
  if (type !== 'Q' && type !== 'P') return bytes;
  const from = type === 'Q' ? 5 : bytes.indexOf(0, 5) + 1;
  const to = bytes.indexOf(0, from);
  // Without quotes, since it may stand within a text.
  const text = bytes.toString('utf8', from, to).replace(READING, `($& + make_interval(secs => ${seconds}))`);
  const message = Buffer.concat([bytes.subarray(0, from), Buffer.from(text), bytes.subarray(to)]);
  message.writeInt32BE(message.length - 1, 1);
  return message;
}
