import { onTestFinished } from 'vitest';
import { type Ended, type Started, start, TOKEN } from '../cli/setup.ts';
import { type CuttingProxy, cuttingProxy } from '../support/postgres/cutting-proxy.ts';
import type { TestSchema } from '../support/postgres.ts';

/** A fault of a writer, after this many requests to the service or messages to PostgreSQL since the last fault. */
export interface WriterFault {
  readonly kind: 'kill' | 'stop' | 'cut';
  readonly at: 'request' | 'statement';
  readonly after: number;
}

/** Starts the real program for one environment. */
export function startSync(url: string, db: string, envId: string): Started {
  const own = '--history --page-size=2 --concurrency=1 --allow-http --log-level=warn'.split(' ');
  const started = start(['sync', `--base-url=${url}`, `--env=${envId}`, ...own], {
    env: { OBSYNC_TOKEN: TOKEN, OBSYNC_DB: db },
  });
  onTestFinished(() => started.kill('SIGKILL'));
  return started;
}

/** One environment and its writing processes, one at a time. */
export interface Writer {
  readonly envId: string;
  /** Called when one of its processes sends a request. @returns whether the service replies */
  onRequest(): boolean;
  /** Starts one process after another until one succeeds. */
  write(url: string): Promise<WriterResult>;
}

interface WriterResult {
  /** The processes that were neither killed nor stopped. */
  readonly ended: readonly Ended[];
  /** The processes that were stopped until another one claimed their environment. */
  readonly displaced: readonly Ended[];
  /** How many pages were lost with their process. */
  readonly lost: number;
  readonly processes: number;
}

export async function createWriter(
  { url: db, serverUrl, ask }: TestSchema,
  envId: string,
  faults: readonly WriterFault[],
): Promise<Writer> {
  const pending = [...faults];
  const stopped: Started[] = [];
  const displaced: Promise<Ended>[] = [];
  let [count, lost, processes] = [0, 0, 0];
  let current: Started | null = null;
  let onStopped = (): void => {};
  const takeFault = (at: WriterFault['at']): WriterFault['kind'] | null => {
    if (pending[0]?.at !== at) return null;
    count += 1;
    if (count < pending[0].after) return null;
    count = 0;
    return pending.shift()?.kind ?? null;
  };
  const suffer = (kind: WriterFault['kind']): void => {
    if (kind === 'cut') proxy.cutAll();
    else lost += 1;
    if (kind === 'kill') current?.kill('SIGKILL');
    if (kind === 'stop') {
      current?.kill('SIGSTOP');
      onStopped();
    }
  };
  const proxy: CuttingProxy = await cuttingProxy(serverUrl, () => {
    const kind = takeFault('statement');
    if (kind !== null) suffer(kind);
  });
  onTestFinished(() => proxy.close());
  const through = new URL(db);
  through.host = new URL(proxy.url).host;
  return {
    envId,
    onRequest() {
      // The requesting process has claimed the environment of the stopped one.
      for (const each of stopped.splice(0)) each.kill('SIGCONT');
      const kind = takeFault('request');
      if (kind !== null) suffer(kind);
      return kind !== 'kill';
    },
    async write(url) {
      const ended: Ended[] = [];
      for (;;) {
        processes += 1;
        const started = startSync(url, through.href, envId);
        current = started;
        const isStopped = new Promise<null>((resolve) => {
          onStopped = () => resolve(null);
        });
        const end = await Promise.race([started.ended, isStopped]);
        if (end === null) {
          await ask(`update lease_owners set until_ms = 0
            where owner = (select lease_owner from mirror_environments where env_id = '${envId}')`);
          stopped.push(started);
          displaced.push(started.ended);
          continue;
        }
        if (end.code !== null) ended.push(end);
        if (end.code === 0 || ended.length > 9) break;
      }
      return { ended, displaced: await Promise.all(displaced), lost, processes };
    },
  };
}
