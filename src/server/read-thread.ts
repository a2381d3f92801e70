import { parentPort, workerData } from 'node:worker_threads';
import { openForReading } from '../destination/sqlite/open.ts';
import type { Principal } from './access.ts';
import { type AdmittedRequest, type EndpointAnswer, openAnswering } from './answers.ts';
import type { RequestContext } from './endpoints.ts';
import { type HttpErrorParts, httpErrorParts } from './errors.ts';
import { openMirrorReads } from './mirror-reads.ts';

/** A thread that reads the mirror. It answers the serving thread's requests one at a time. */

export interface ThreadOptions extends Pick<RequestContext, 'weights'> {
  /** The mirror's file. Each thread opens it itself. */
  readonly path: string;
  /** Shared by all threads, so each accepts cursors made by the others. */
  readonly cursorKey: string;
}

/** A read request. It names the reader, who may be large and is included only if this thread doesn't know them. */
export interface PostedRequest extends Omit<AdmittedRequest, 'reader'> {
  readonly name: string;
  readonly reader: Principal | null;
}

/** An internal failure is sent as an error, an HTTP error as data, because its properties would be lost. */
export type ThreadReply = EndpointAnswer | { readonly failure: unknown } | { readonly refused: HttpErrorParts };

const { path, cursorKey, weights } = workerData as ThreadOptions;
const mirror = openForReading(path);
const { answer } = openAnswering({ weights, store: openMirrorReads(mirror, cursorKey) });
const readers = new Map<string, Principal>();

/** Null ends the thread. */
parentPort?.on('message', (posted: PostedRequest | null) => {
  if (posted === null) {
    mirror.connection.close();
    parentPort?.close();
    return;
  }
  const { name, reader, ...request } = posted;
  if (reader !== null) readers.set(name, reader);
  const replied = replyTo({ ...request, reader: readers.get(name) as Principal });
  const isLong = 'body' in replied && replied.body.length >= TRANSFER_FROM_BYTES;
  if (!isLong) return parentPort?.postMessage(replied);
  const body = transferable(replied.body);
  parentPort?.postMessage({ ...replied, body }, [body.buffer]);
});

/** Copying is cheaper for shorter answers. */
const TRANSFER_FROM_BYTES = 4096;

/** The bytes in a buffer of their own, which can be transferred. */
function transferable(body: Buffer | string): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  const { buffer, byteLength } = body;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(body);
}

function replyTo(request: AdmittedRequest): ThreadReply {
  try {
    return answer(request);
  } catch (failure) {
    const refused = httpErrorParts(failure);
    return refused === null ? { failure } : { refused };
  }
}
