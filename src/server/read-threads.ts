import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import PQueue from 'p-queue';
import type { Principal } from './access.ts';
import type { AdmittedRequest, EndpointAnswer, EndpointAnswers } from './answers.ts';
import { gone, overloaded } from './errors.ts';
import { makeCursorKey } from './mirror-reads.ts';
import type { PostedRequest, ThreadOptions, ThreadReply } from './read-thread.ts';

/** Compiled, the thread's file stands beside this one; in development both are read as they are. */
const THREAD = import.meta.url.endsWith('.ts') ? './read-thread.ts' : './read-thread.js';

/** Questions that may wait for a thread; a token alone may have half of them waiting. */
const MOST_WAITING = 512;

/** One question at a time. */
interface ReadThread {
  ask(admittedRequest: AdmittedRequest): Promise<EndpointAnswer>;
  isOver(): boolean;
  /** Once what it is at is read. */
  end(): Promise<void>;
}

/** Answers are read in threads, so that nothing read keeps the one that serves from going on. */
export function answersInThreads(
  count: number,
  options: Omit<ThreadOptions, 'cursorKey'> & Partial<ThreadOptions>,
): EndpointAnswers {
  const threadOptions = { cursorKey: makeCursorKey(), ...options };
  const queue = new PQueue({ concurrency: count });
  const threads = new Set<ReadThread>();
  const underWay = new Map<Principal, number>();
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
      return await thread.ask(admittedRequest);
    } finally {
      idle.push(thread);
    }
  };
  return {
    answerAtOnce: () => null,
    async answer(asking, goneSignal) {
      const { reader } = asking;
      const own = underWay.get(reader) ?? 0;
      if (queue.size >= MOST_WAITING || own >= MOST_WAITING / 2) throw overloaded();
      underWay.set(reader, own + 1);
      try {
        // Who has more under way waits behind those who have less.
        return await whileWanted(goneSignal, (begun, signal) =>
          queue.add(() => read(asking, begun), { signal, priority: -own }),
        );
      } finally {
        const left = (underWay.get(reader) ?? 1) - 1;
        if (left === 0) underWay.delete(reader);
        else underWay.set(reader, left);
      }
    },
    async close() {
      queue.clear();
      await Promise.all([...threads].map((thread) => thread.end()));
    },
  };
}

/** What waits is given up when nobody wants it any more; what has begun is not: nothing stops SQLite in the midst of it. */
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
  const told = new Map<string, Principal>();
  let pending: PromiseWithResolvers<EndpointAnswer> | null = null;
  let isOver = false;
  worker.on('message', (threadReply: ThreadReply) => {
    if ('failure' in threadReply) pending?.reject(threadReply.failure);
    else pending?.resolve('body' in threadReply ? { ...threadReply, body: asSent(threadReply.body) } : threadReply);
  });
  const over = (error: unknown): void => {
    isOver = true;
    whenOver();
    pending?.reject(error);
  };
  worker.on('error', over);
  worker.on('exit', (code) => over(new Error(`a thread that reads ended with ${code}`)));
  return {
    ask({ reader, ...ask }) {
      pending = Promise.withResolvers();
      const isNew = told.get(reader.name) !== reader;
      told.set(reader.name, reader);
      worker.postMessage({ ...ask, name: reader.name, reader: isNew ? reader : null } satisfies PostedRequest);
      return pending.promise;
    },
    isOver: () => isOver,
    async end() {
      if (isOver) return;
      pending?.reject(gone());
      // Not terminated: in the midst of SQLite that would end the whole process.
      worker.ref();
      worker.postMessage(null);
      await once(worker, 'exit');
    },
  };
}

const asSent = (body: Uint8Array | string): Buffer | string =>
  typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
