import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import PQueue from 'p-queue';
import type { Principal } from './access.ts';
import type { AdmittedRequest, EndpointAnswer, EndpointAnswers } from './answers.ts';
import { gone, httpErrorFrom, overloaded } from './errors.ts';
import { makeCursorKey } from './mirror-reads.ts';
import type { PostedRequest, ThreadOptions, ThreadReply } from './read-thread.ts';

/** The file of the thread stands beside this one, compiled or not. */
const THREAD = import.meta.url.endsWith('.ts') ? './read-thread.ts' : './read-thread.js';

/** The most requests that may wait for a thread; one token may have half of them. */
const MOST_WAITING = 512;

/** A thread that answers one request at a time. */
interface ReadThread {
  answer(admittedRequest: AdmittedRequest): Promise<EndpointAnswer>;
  isOver(): boolean;
  /** Ends the thread after its current read. */
  end(): Promise<void>;
}

/** Reads answers in threads, so that no read blocks the serving thread. */
export function answersInThreads(
  count: number,
  options: Omit<ThreadOptions, 'cursorKey'> & Partial<ThreadOptions>,
): EndpointAnswers {
  const threadOptions = { cursorKey: makeCursorKey(), ...options };
  const queue = new PQueue({ concurrency: count });
  const threads = new Set<ReadThread>();
  const unfinished = new Map<Principal, number>();
  const started = (): ReadThread => {
    const thread = startThread(threadOptions, () => threads.delete(thread));
    threads.add(thread);
    return thread;
  };
  const idle = Array.from({ length: count }, started);
  const read = async (admittedRequest: AdmittedRequest, begun: () => void): Promise<EndpointAnswer> => {
    begun();
    const free = idle.pop();
    const thread = free === undefined || free.isOver() ? started() : free;
    try {
      return await thread.answer(admittedRequest);
    } finally {
      idle.push(thread);
    }
  };
  return {
    answerAtOnce: () => null,
    async answer(request, goneSignal) {
      const { reader } = request;
      const own = unfinished.get(reader) ?? 0;
      if (queue.size >= MOST_WAITING || own >= MOST_WAITING / 2) throw overloaded();
      unfinished.set(reader, own + 1);
      try {
        // A reader with more unfinished requests waits behind those with fewer.
        return await whileWanted(goneSignal, (begun, signal) =>
          queue.add(() => read(request, begun), { signal, priority: -own }),
        );
      } finally {
        const left = (unfinished.get(reader) ?? 1) - 1;
        if (left === 0) unfinished.delete(reader);
        else unfinished.set(reader, left);
      }
    },
    async close() {
      queue.clear();
      await Promise.all([...threads].map((thread) => thread.end()));
    },
  };
}

/**
 * A waiting request is given up when its client has gone. A read that has begun is not: SQLite cannot be stopped in the
 * middle.
 */
async function whileWanted<Found>(
  goneSignal: AbortSignal,
  wait: (begun: () => void, signal: AbortSignal) => Promise<Found>,
): Promise<Found> {
  const waiting = new AbortController();
  const giveUp = (): void => waiting.abort(gone());
  if (goneSignal.aborted) giveUp();
  goneSignal.addEventListener('abort', giveUp);
  return wait(() => goneSignal.removeEventListener('abort', giveUp), waiting.signal);
}

function startThread(options: ThreadOptions, whenOver: () => void): ReadThread {
  const worker = new Worker(new URL(THREAD, import.meta.url), { workerData: options });
  worker.unref();
  const knownReaders = new Map<string, Principal>();
  let pending: PromiseWithResolvers<EndpointAnswer> | null = null;
  let isOver = false;
  worker.on('message', (threadReply: ThreadReply) => {
    if ('failure' in threadReply) pending?.reject(threadReply.failure);
    else if ('refused' in threadReply) pending?.reject(httpErrorFrom(threadReply.refused));
    else pending?.resolve('body' in threadReply ? { ...threadReply, body: asSent(threadReply.body) } : threadReply);
  });
  const over = (error: unknown): void => {
    isOver = true;
    whenOver();
    pending?.reject(error);
  };
  worker.on('error', over);
  worker.on('exit', (code) => over(new Error(`a reading thread ended with code ${code}`)));
  return {
    answer({ reader, ...request }) {
      pending = Promise.withResolvers();
      const isNew = knownReaders.get(reader.name) !== reader;
      knownReaders.set(reader.name, reader);
      worker.postMessage({ ...request, name: reader.name, reader: isNew ? reader : null } satisfies PostedRequest);
      return pending.promise;
    },
    isOver: () => isOver,
    async end() {
      if (isOver) return;
      pending?.reject(gone());
      // `terminate` within an SQLite call would end the whole process.
      worker.ref();
      worker.postMessage(null);
      await once(worker, 'exit');
    },
  };
}

const asSent = (body: Uint8Array | string): Buffer | string =>
  typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
