import { setTimeout as sleep } from 'node:timers/promises';
import { type MirrorLock, takeLock } from '../../state/lock.ts';
import {
  type PrunedStretch,
  planRefresh,
  prunedRuns,
  prunedStretches,
  type RefreshStep,
} from '../core/decide/plan-refresh.ts';
import { SyncError } from '../core/errors.ts';
import {
  COPIED_TABLES,
  type CopiedTable,
  type ReplicaSource,
  type RowSelection,
  type SourceSnapshot,
} from './sql/copied-tables.ts';
import { isDamage } from './sqlite/open.ts';
import { openReplicaFile, type ReplicaFile, type ReplicaPlace, startReplica } from './sqlite/replica-file.ts';

export interface RefreshReport {
  /** Rows read from the mirror. */
  readonly rows: number;
  /** Whether the replica was new, or had to be read again as a whole. */
  readonly isWhole: boolean;
}

export interface RefreshOptions {
  readonly signal: AbortSignal;
  /** Whether to read every row again, even rows that have changed without a commit of obsync. */
  readonly readsAll?: boolean;
  /** Whether to look for damage in the whole file first. It takes about a second per GB. */
  readonly checksFile?: boolean;
}

/**
 * Makes a replica equal to its mirror as of one instant. Other processes that refresh it wait.
 * @throws SyncError
 */
export async function refreshReplica(
  source: ReplicaSource,
  place: ReplicaPlace,
  options: RefreshOptions,
): Promise<RefreshReport> {
  const lock = await lockWhenFree(place.path, options.signal);
  try {
    try {
      return await refresh(source, () => openReplicaFile(place, options.checksFile ?? false), options);
    } catch (error) {
      if (!isDamage(error)) throw error;
      return await refresh(source, () => startReplica(place.path), options);
    }
  } finally {
    lock.release();
  }
}

/** A large mirror takes minutes to copy. With the time that `takeLock` waits, these tries take ten minutes. */
const [TRIES, RETRY_MS] = [2000, 100];

const stopped = (): SyncError =>
  new SyncError('signal', 'stopped before the replica was refreshed: nothing was changed');

async function lockWhenFree(path: string, signal: AbortSignal): Promise<MirrorLock> {
  for (let tries = 1; ; tries++)
    try {
      return takeLock(path);
    } catch (error) {
      if (signal.aborted) throw stopped();
      if (!(error instanceof SyncError && error.recovery === 'locked')) throw error;
      const text = `another process has been refreshing ${path} for ten minutes: stop it`;
      if (tries === TRIES) throw new SyncError('locked', text, { cause: error });
      await sleep(RETRY_MS);
    }
}

async function refresh(
  source: ReplicaSource,
  open: () => ReplicaFile,
  options: RefreshOptions,
): Promise<RefreshReport> {
  return source.inSnapshot(async (snapshot) => {
    const file = open();
    try {
      return await applyChanges(file, snapshot, options);
    } catch (error) {
      file.abandon();
      throw error;
    }
  });
}

async function applyChanges(
  file: ReplicaFile,
  snapshot: SourceSnapshot,
  { signal, readsAll = false }: RefreshOptions,
): Promise<RefreshReport> {
  const found = await snapshot.versions();
  const known = readsAll ? null : file.known;
  const newestRun = known?.newestRun ?? null;
  const nonceThen = newestRun === null ? null : await snapshot.nonceOf(newestRun.id);
  const { isWhole, steps } = planRefresh(COPIED_TABLES, known, found, nonceThen);
  if (steps.length === 0) {
    file.abandon();
    return { rows: 0, isWhole };
  }
  const refreshed = { file, snapshot, signal };
  const [before, runs] = [file.pruned(), file.runs()];
  let rows = 0;
  for (const step of steps) rows += await applyStep(refreshed, step);
  await dropDeleted(refreshed, steps);
  const pruned = isWhole ? [] : [...prunedStretches(before, file.pruned()), ...prunedRuns(runs, file.runs())];
  for (const { envId, table, ...limits } of pruned)
    await retainKeys(refreshed, tableOf(table), { envId, within: { column: PRUNED_BY[table], ...limits } });
  file.finish(found);
  return { rows, isWhole };
}

interface RefreshedFile {
  readonly file: ReplicaFile;
  readonly snapshot: SourceSnapshot;
  readonly signal: AbortSignal;
}

async function applyStep(
  { file, snapshot, signal }: RefreshedFile,
  { table: name, envId, after }: RefreshStep,
): Promise<number> {
  const table = tableOf(name);
  if (after === null) file.clear(table, envId);
  const write = after === null ? file.insert : file.replace;
  let count = 0;
  for await (const rows of snapshot.rows(table, { envId, after })) {
    if (signal.aborted) throw stopped();
    write(table, rows);
    count += rows.length;
  }
  return count;
}

/**
 * Deletes the rows that the mirror has deleted. With all changed rows, a replica has every row of the mirror, so it has
 * others exactly if it has more. Tombstones stay in both. Rows of histories and of the log are deleted only by pruning.
 */
async function dropDeleted(refreshed: RefreshedFile, steps: readonly RefreshStep[]): Promise<void> {
  const { file, snapshot } = refreshed;
  const hasAsMany = async (table: CopiedTable, envId: string | null): Promise<boolean> =>
    file.count(table, envId) === (await snapshot.count(table, envId));
  const candidates = steps.filter(({ mayHoldDeleted }) => mayHoldDeleted);
  for (const [name, ofTable] of Map.groupBy(candidates, (step) => step.table)) {
    const table = tableOf(name);
    if (table.hasTombstones || name in PRUNED_BY) continue;
    if (table.parentLinks.length > 0) await dropDeletedChildren(refreshed, table, ofTable);
    else if (!(await hasAsMany(table, null)))
      for (const { envId } of ofTable)
        if (envId === null || !(await hasAsMany(table, envId))) await retainKeys(refreshed, table, { envId });
  }
}

/** Rows that are gone had a parent that changed, so only the children of changed parents are compared. */
async function dropDeletedChildren(
  refreshed: RefreshedFile,
  table: CopiedTable,
  steps: readonly RefreshStep[],
): Promise<void> {
  for (const { envId, after } of steps)
    for (const link of table.parentLinks)
      if (envId !== null && after !== null)
        await retainKeys(refreshed, table, { envId, within: { ...link, envId, after } });
}

async function retainKeys(
  { file, snapshot }: RefreshedFile,
  table: CopiedTable,
  { envId, within }: Pick<RowSelection, 'within'> & { readonly envId: string | null },
): Promise<void> {
  const keys = snapshot.rows(table, { columns: table.key, envId, within });
  await file.retain(table, { envId, keys, within });
}

/** The column that tells which rows are pruned. */
const PRUNED_BY: Readonly<Record<PrunedStretch['table'], string>> = {
  asset_health_score_history: 'bucket_at',
  test_executions: 'start_time',
  sync_stream_runs: 'run_id',
};

function tableOf(name: string): CopiedTable {
  const found = COPIED_TABLES.find((table) => table.name === name);
  if (found === undefined) throw new Error(`no table ${name}`);
  return found;
}
