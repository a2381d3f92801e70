import { PgBoss } from 'pg-boss';
import type { WorkDatabase, WorkTransaction } from './database.ts';

/** What a job asks for: a sync of one environment, or a listing of an account's environments. */
export type QueuedWork = { readonly account: string; readonly environment: string } | { readonly list: string };

/** A job to be put into the queue. */
export interface QueuedJob {
  readonly work: QueuedWork;
  /** The lowest comes first. */
  readonly turn: number;
}

/** A job that a worker has taken. */
export interface TakenJob {
  readonly id: string;
  /** Which attempt at the job this is: an earlier one can no longer end it. */
  readonly retryCount: number;
  readonly data: QueuedWork;
}

/** The queue that hands out jobs: pg-boss. A job is a hint; the lease of an environment keeps it safe (R26). */
export interface JobQueue {
  /** Puts jobs in. One that is there already, waiting or taken, is left out. */
  add(transaction: WorkTransaction, jobs: readonly QueuedJob[]): Promise<void>;
  /**
   * Takes jobs, the lowest turns first, and one of each account at a time; none of the accounts `without`. There may be more when it gives fewer
   * than `most`.
   */
  take(most: number, without?: readonly string[]): Promise<readonly TakenJob[]>;
  /** Says that jobs are at hand; one of which nothing is heard for a while goes to another worker. */
  touch(jobs: readonly TakenJob[]): Promise<void>;
  /** Ends a job. */
  end(transaction: WorkTransaction, job: TakenJob): Promise<void>;
  close(): Promise<void>;
}

/** After so long without a sign of its worker a job goes to another one. */
const HEARTBEAT_SECONDS = 15;

const QUEUE = 'sync';

/** The longest time that a job may take; a sync that takes longer goes on, and its lease keeps others away. */
const MOST_SECONDS = 24 * 3600;

/** Finished jobs are of no use: the accounts say how each sync ended. */
const KEEP_ENDED_SECONDS = 3600;

/** How often a job is given to another worker after its worker died. After that, the list of what is due brings it back. */
const RETRIES = 3;

/** How often ended jobs are deleted: thousands of them end in an hour. */
const TIDY_SECONDS = 600;

const QUEUE_OPTIONS = {
  heartbeatSeconds: HEARTBEAT_SECONDS,
  retryLimit: RETRIES,
  expireInSeconds: MOST_SECONDS,
  deleteAfterSeconds: KEEP_ENDED_SECONDS,
};

export async function openJobQueue(
  workDatabase: WorkDatabase,
  { onWarning }: { onWarning(message: string): void },
): Promise<JobQueue> {
  const boss = new PgBoss({
    db: executing(workDatabase),
    schema: 'obsync_jobs',
    // What is due is kept with the accounts: its own schedules are read and compared one by one, twice a minute.
    schedule: false,
    superviseIntervalSeconds: HEARTBEAT_SECONDS,
    monitorIntervalSeconds: HEARTBEAT_SECONDS,
    flowIntervalSeconds: MOST_SECONDS,
    maintenanceIntervalSeconds: TIDY_SECONDS,
  });
  boss.on('error', (error) => onWarning(`the queue: ${error.message}`));
  boss.on('warning', ({ message }) => onWarning(`the queue: ${message}`));
  await boss.start();
  await boss.createQueue(QUEUE, { policy: 'exclusive', ...QUEUE_OPTIONS });
  // A queue that was there already has the options of the version that made it.
  await boss.updateQueue(QUEUE, QUEUE_OPTIONS);
  return {
    add: async (transaction, jobs) =>
      void (await boss.insert(
        QUEUE,
        jobs.map(({ work, turn }) => ({
          data: work,
          priority: -turn,
          singletonKey: keyOfWork(work),
          group: { id: groupOf(work) },
        })),
        { db: executing(transaction) },
      )),
    take: (most, without = []) =>
      boss.fetch<QueuedWork>(QUEUE, {
        batchSize: most,
        groupConcurrency: 1,
        ...(without.length === 0 ? {} : { ignoreGroups: without.flatMap(groupsOf) }),
      }),
    touch: async (jobs) => void (await boss.touch(QUEUE, jobs.map(attemptOf))),
    end: async (transaction, job) =>
      void (await boss.complete(QUEUE, attemptOf(job), null, { db: executing(transaction) })),
    close: () => boss.stop({ graceful: false }),
  };
}

function executing({ query }: Pick<WorkDatabase, 'query'>) {
  return { executeSql: (text: string, values?: unknown[]) => query(text, values) };
}

function attemptOf({ id, retryCount }: TakenJob) {
  return { id, retryCount };
}

function keyOfWork(work: QueuedWork): string {
  return JSON.stringify('list' in work ? [work.list] : [work.account, work.environment]);
}

/** A listing does not wait for a sync of its account. */
function groupOf(work: QueuedWork): string {
  return 'list' in work ? `list ${work.list}` : `sync ${work.account}`;
}

function groupsOf(account: string): string[] {
  return [groupOf({ list: account }), groupOf({ account, environment: '' })];
}
