/**
 * Runs many random histories on all cores: `npm run test:soak`. Prints its seed. Stops at the first failure with exit
 * code 1 and prints how to replay it. Environment variables:
 * - OBSYNC_RUNS: number of histories, by default 10 000
 * - OBSYNC_SEED: the seed, by default taken from the clock
 * - OBSYNC_FROM: resumes a soak that was stopped after it had printed this number of histories
 * - OBSYNC_WORKERS: number of processes, by default one per core
 * - OBSYNC_TWINS=1: adds a twin in PostgreSQL to each mirror, which must give the same answers and rows
 * - OBSYNC_TEST_POSTGRES: the server of the twins, by default one that is started for them
 * - OBSYNC_PROPERTY, OBSYNC_PATH: replay one failed history, together with the seed
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import fc from 'fast-check';
import { startServer } from '../support/postgres/server.ts';
import { type TwinSchema, twinSchema } from '../support/twin.ts';
import { PROPERTIES, type Property, propertiesOf } from './properties.ts';

/** Histories of one property and seed for one process. */
interface Batch {
  /** How many histories come before it. */
  readonly start: number;
  readonly property: Property['id'];
  readonly seed: number;
  readonly runs: number;
  /** Selects one failed history. */
  readonly path?: string;
}

const BATCH_RUNS = 100;
const { env } = process;

const hasTwins = (env['OBSYNC_TWINS'] ?? '') !== '';
let properties: readonly Property[] | null = null;
let schema: TwinSchema | null = null;

/** All processes share one PostgreSQL server, and all histories of a process one schema. */
async function loadProperties(): Promise<readonly Property[]> {
  if (hasTwins) schema ??= await twinSchema(undefined, env['OBSYNC_TEST_POSTGRES']);
  properties ??= schema === null ? PROPERTIES : propertiesOf(schema.makeTwin);
  return properties;
}

async function runBatch({ property: id, seed, runs, path }: Omit<Batch, 'start'>): Promise<string | null> {
  const { property } = (await loadProperties()).find((each) => each.id === id) as Property;
  const details = await fc.check(property, { seed, numRuns: runs, ...(path ? { path, endOnFailure: true } : {}) });
  if (!details.failed) return null;
  const command = `${hasTwins ? 'OBSYNC_TWINS=1 ' : ''}OBSYNC_PROPERTY=${id} OBSYNC_SEED=${seed} OBSYNC_PATH=${details.counterexamplePath}`;
  const error = details.errorInstance instanceof Error ? details.errorInstance.stack : details.errorInstance;
  return `${await fc.asyncDefaultReportMessage(details)}\n\n${error}\n\nReplay: ${command} npm run test:soak`;
}

/** Splits every hundred runs by the shares of the properties. Each batch has its own seed. */
function* planBatches(seed: number, from: number, runs: number): Generator<Batch, undefined> {
  for (let drawn = from; drawn < runs; drawn += BATCH_RUNS) {
    const share = Math.min(BATCH_RUNS, runs - drawn) / 100;
    for (const [i, { id, share: ofHundred }] of PROPERTIES.entries())
      yield {
        start: drawn,
        property: id,
        seed: (seed + drawn * PROPERTIES.length + i) | 0,
        runs: Math.ceil(share * ofHundred),
      };
  }
}

/** Mirrors of twins are small and soon dropped. New statistics would change plans, and so what a replay does. */
const FOR_TWINS = [
  'autovacuum=off',
  'jit=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'checkpoint_timeout=1h',
  'max_wal_size=4GB',
];

/** Most objects die young. Collected less often, fewer of them are copied. */
const LARGE_YOUNG_GENERATION = ['--min-semi-space-size=32', '--max-semi-space-size=64'];

/** Runs one process, which takes a batch at a time. @returns the failure, or null */
function runWorker(
  take: () => Batch | undefined,
  onDone: (batch: Batch) => void,
  stop: AbortSignal,
): Promise<string | null> {
  const worker = fork(import.meta.filename, ['worker'], { execArgv: [...process.execArgv, ...LARGE_YOUNG_GENERATION] });
  stop.addEventListener('abort', () => worker.kill());
  return new Promise((resolve) => {
    let batch: Batch | undefined;
    const next = (): void => {
      batch = take();
      if (batch === undefined) worker.disconnect();
      else worker.send(batch);
    };
    worker.on('message', ({ failure }: { failure: string | null }) => {
      if (failure !== null) return resolve(failure);
      const ended = batch as Batch;
      next();
      onDone(ended);
    });
    worker.on('exit', (code) =>
      resolve(batch === undefined || stop.aborted ? null : `a worker died, ${code}: ${JSON.stringify(batch)}`),
    );
    next();
  });
}

async function soak(): Promise<string | null> {
  const seed = Number(env['OBSYNC_SEED'] ?? Date.now() % 1_000_000_000);
  const runs = Number(env['OBSYNC_RUNS'] ?? 10_000);
  const from = Number(env['OBSYNC_FROM'] ?? 0);
  const workers = Number(env['OBSYNC_WORKERS'] ?? availableParallelism());
  if (env['OBSYNC_PROPERTY'] !== undefined) {
    const path = env['OBSYNC_PATH'];
    const property = env['OBSYNC_PROPERTY'] as Property['id'];
    const failure = await runBatch(path ? { property, seed, path, runs: 1 } : { property, seed, runs });
    await schema?.close();
    return failure;
  }
  console.log(`OBSYNC_SEED=${seed} OBSYNC_RUNS=${runs}, ${workers} processes`);
  const batches = planBatches(seed, from, runs);
  const stop = new AbortController();
  const start = performance.now();
  // Batches are taken in order, so all histories before the first of these have been played.
  const running = new Set<Batch>();
  const take = (): Batch | undefined => {
    const { value: batch } = batches.next();
    if (batch) running.add(batch);
    return batch;
  };
  let printed = from;
  const onDone = (batch: Batch): void => {
    running.delete(batch);
    const played = Math.min(runs, ...[...running].map((each) => each.start));
    if (played - printed < runs / 20 && running.size > 0) return;
    printed = played;
    console.log(`${played} histories, ${Math.round((performance.now() - start) / 1000)} s`);
  };
  const all = Array.from({ length: workers }, async () => {
    const failure = await runWorker(take, onDone, stop.signal);
    if (failure !== null) stop.abort();
    return failure;
  });
  return (await Promise.all(all)).find((failure) => failure !== null) ?? null;
}

if (process.argv[2] === 'worker') {
  // The connection to the twins' server would keep it alive.
  process.on('disconnect', () => process.exit());
  process.on('message', async (batch: Batch) => {
    process.send?.({ failure: await runBatch(batch) });
  });
} else {
  if (hasTwins) env['OBSYNC_TEST_POSTGRES'] ||= (await startServer(FOR_TWINS)).url;
  const failure = await soak();
  if (failure !== null) console.error(failure);
  process.exitCode = failure === null ? 0 : 1;
}
