import { parentPort, workerData } from 'node:worker_threads';
import { openForReading } from '../destination/sqlite/open.ts';
import type { Principal } from './access.ts';
import { type AdmittedRequest, type EndpointAnswer, openAnswering } from './answers.ts';
import type { EndpointOptions } from './endpoints.ts';

/** A thread that reads: one question after the other from the thread that serves, and an answer to each. */

export interface ThreadOptions extends EndpointOptions {
  /** The mirror's file; each thread opens it for itself. */
  readonly path: string;
  /** One for all threads: they take each other's cursors. */
  readonly cursorKey: string;
}

/** A question, by the name of the one who asks; his limits come along where they are new to this thread: they may be long. */
export interface PostedRequest extends Omit<AdmittedRequest, 'reader'> {
  readonly name: string;
  readonly reader: Principal | null;
}

/** A failure inside goes as the error that it is. */
export type ThreadReply = EndpointAnswer | { readonly failure: unknown };

const { path, ...options } = workerData as ThreadOptions;
const mirror = openForReading(path);
const answer = openAnswering({ ...options, mirror });
const readers = new Map<string, Principal>();

/** Null ends the thread. */
parentPort?.on('message', (posted: PostedRequest | null) => {
  if (posted === null) {
    mirror.connection.close();
    parentPort?.close();
    return;
  }
  const { name, reader, ...ask } = posted;
  if (reader !== null) readers.set(name, reader);
  const replied = replyTo({ ...ask, reader: readers.get(name) as Principal });
  const isLong = 'body' in replied && replied.body.length >= HANDED_OVER_FROM;
  if (!isLong) return parentPort?.postMessage(replied);
  const body = handedOver(replied.body);
  parentPort?.postMessage({ ...replied, body }, [body.buffer]);
});

/** Shorter answers are cheaper to copy. */
const HANDED_OVER_FROM = 4096;

/** Bytes in a memory of their own. */
function handedOver(body: Buffer | string): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  const { buffer, byteLength } = body;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(body);
}

function replyTo(admittedRequest: AdmittedRequest): ThreadReply {
  try {
    return answer(admittedRequest);
  } catch (failure) {
    return { failure };
  }
}
