/** A complete message of PostgreSQL's protocol. */
export interface WireMessage {
  /** Its type, such as `Q`; empty for the first message of a client, which has none. */
  readonly type: string;
  readonly bytes: Buffer;
}

/** Splits a stream of bytes into messages. A client's first message has no type before its length. */
export function messageReader(isClient: boolean): (chunk: Buffer) => WireMessage[] {
  let waiting: Buffer = Buffer.alloc(0);
  let isFirst = isClient;
  const next = (): WireMessage | null => {
    const before = isFirst ? 0 : 1;
    if (waiting.length < before + 4) return null;
    const length = before + waiting.readInt32BE(before);
    if (waiting.length < length) return null;
    const bytes = waiting.subarray(0, length);
    waiting = waiting.subarray(length);
    const type = isFirst ? '' : String.fromCharCode(bytes[0] ?? 0);
    // After its request for encryption was refused, the client starts over.
    isFirst = isFirst && isRequestForEncryption(bytes);
    return { type, bytes };
  };
  return (chunk) => {
    waiting = Buffer.concat([waiting, chunk]);
    const read: WireMessage[] = [];
    for (let message = next(); message !== null; message = next()) read.push(message);
    return read;
  };
}

const SSL = 80_877_103;
const GSS = 80_877_104;
const CANCEL = 80_877_102;

export const isRequestForEncryption = (bytes: Buffer): boolean => [SSL, GSS].includes(bytes.readInt32BE(4));
export const isCancellation = (bytes: Buffer): boolean => bytes.readInt32BE(4) === CANCEL;

/** A client's startup message. */
export function startupOptions(bytes: Buffer): ReadonlyMap<string, string> {
  const words = bytes.subarray(8).toString('utf8').split('\0');
  const options = new Map<string, string>();
  for (let i = 0; i + 1 < words.length && words[i] !== ''; i += 2) options.set(words[i] ?? '', words[i + 1] ?? '');
  return options;
}

/** Encodes one message of a server. */
function wireMessage(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

export function errorMessage(code: string, text: string): Buffer {
  return wireMessage('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${text}\0\0`));
}

/** Accepts a client's startup message, with its own process id. */
export function greeting(pid: number, settings: ReadonlyMap<string, string>): Buffer {
  const key = Buffer.alloc(8);
  key.writeInt32BE(pid);
  return Buffer.concat([
    wireMessage('R', Buffer.alloc(4)),
    ...[...settings].map(([name, value]) => wireMessage('S', Buffer.from(`${name}\0${value}\0`))),
    wireMessage('K', key),
    wireMessage('Z', Buffer.from('I')),
  ]);
}
