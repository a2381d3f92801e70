import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import PQueue from 'p-queue';
import { threadArguments } from '../core/thread-arguments.ts';
import type { Principal } from './access.ts';
import type { AdmittedRequest, EndpointAnswer, EndpointAnswers } from './answers.ts';
import { clientGone, httpErrorFrom, overloaded } from './errors.ts';
import type { PostedRequest, ThreadOptions, ThreadReply } from './read-thread.ts';

/** The thread's file is beside this one, compiled or not. */
const THREAD = import.meta.url.endsWith('.ts') ? './read-thread.ts' : './read-thread.js';

/** The maximum number of requests waiting for a thread; one token may have half of them. */
const MAX_WAITING = 512;

type ReadThread = ReturnType<typeof startThread>;

/** Reads answers in threads, so no read blocks the serving thread. */
export function answersInThreads(count: number, options: ThreadOptions): EndpointAnswers {
  const queue = new PQueue({ concurrency: count });
  const threads = new Set<ReadThread>();
  const unfinished = new Map<Principal, number>();
  const spawn = (): ReadThread => {
    const thread = startThread(options, () => threads.delete(thread));
    threads.add(thread);
    return thread;
  };
  const idle = Array.from({ length: count }, spawn);
  const read = async (request: AdmittedRequest, onStart: () => void): Promise<EndpointAnswer> => {
    onStart();
    const free = idle.pop();
    // A thread that has exited is replaced.
    const thread = free !== undefined && threads.has(free) ? free : spawn();
    try {
      return await thread.answer(request);
    } finally {
      idle.push(thread);
    }
  };
  return {
    async answer(request, goneSignal) {
      const { reader } = request;
      const unfinishedCount = unfinished.get(reader) ?? 0;
      if (queue.size >= MAX_WAITING || unfinishedCount >= MAX_WAITING / 2) throw overloaded();
      unfinished.set(reader, unfinishedCount + 1);
      try {
        // A reader with more unfinished requests has lower priority.
        return await unlessGone(goneSignal, (onStart, signal) =>
          queue.add(() => read(request, onStart), { signal, priority: -unfinishedCount }),
        );
      } finally {
        const remaining = (unfinished.get(reader) ?? 1) - 1;
        if (remaining === 0) unfinished.delete(reader);
        else unfinished.set(reader, remaining);
      }
    },
    async close() {
      queue.clear();
      await Promise.all([...threads].map((thread) => thread.stop()));
    },
  };
}

/** Drops a waiting request when its client is gone. A read that began continues: interrupting SQLite is not safe. */
async function unlessGone<Found>(
  goneSignal: AbortSignal,
  wait: (onStart: () => void, signal: AbortSignal) => Promise<Found>,
): Promise<Found> {
  const waiting = new AbortController();
  const giveUp = (): void => waiting.abort(clientGone());
  if (goneSignal.aborted) giveUp();
  goneSignal.addEventListener('abort', giveUp);
  return wait(() => goneSignal.removeEventListener('abort', giveUp), waiting.signal);
}

/** A thread that answers one request at a time. */
function startThread(options: ThreadOptions, onExit: () => void) {
  const worker = new Worker(new URL(THREAD, import.meta.url), {
    workerData: options,
    ...threadArguments(process.execArgv),
  });
  worker.unref();
  const knownReaders = new Map<string, Principal>();
  let pending: PromiseWithResolvers<EndpointAnswer> | null = null;
  worker.on('message', (reply: ThreadReply) => {
    if ('failure' in reply) pending?.reject(reply.failure);
    else if ('refused' in reply) pending?.reject(httpErrorFrom(reply.refused));
    else pending?.resolve('body' in reply ? { ...reply, body: bodyOf(reply.body) } : reply);
  });
  const exit = (error: unknown): void => {
    onExit();
    pending?.reject(error);
  };
  worker.on('error', exit);
  worker.on('exit', (code) => exit(new Error(`a reader thread exited with code ${code}`)));
  return {
    answer({ reader, ...request }: AdmittedRequest): Promise<EndpointAnswer> {
      pending = Promise.withResolvers();
      const isNew = knownReaders.get(reader.name) !== reader;
      knownReaders.set(reader.name, reader);
      worker.postMessage({ ...request, name: reader.name, reader: isNew ? reader : null } satisfies PostedRequest);
      return pending.promise;
    },
    /** Stops the thread after its current read. */
    async stop(): Promise<void> {
      pending?.reject(clientGone());
      // `terminate` during an SQLite call would end the whole process.
      worker.ref();
      worker.postMessage(null);
      await once(worker, 'exit');
    },
  };
}

const bodyOf = (body: Uint8Array | string): Buffer | string =>
  typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
