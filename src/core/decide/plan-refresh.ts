import { EPOCH, type Instant } from '../time/instant.ts';
import type { PrunedHistory } from './retention.ts';

/** What decides, at one instant, which rows of a mirror a replica lacks. */
export interface MirrorVersions {
  /** Identifies the mirror: another one after a failover, or after a dump was restored. */
  readonly identity: string;
  /** The newest run that stays if it is refused. A mirror restored from a backup lacks it, or has another one. */
  readonly newestRun: { readonly id: number; readonly nonce: string } | null;
  /** The time of the last commit to each environment (R21). */
  readonly clocks: ReadonlyMap<string, Instant>;
  /** The time of the last one that deleted rows of a table without tombstones. */
  readonly removals: ReadonlyMap<string, Instant>;
  /** The number of a transaction: every earlier one had ended. */
  readonly allEndedBefore: string;
  /** A text per table and environment that changes with any row; `''` stands for a table without environments. */
  readonly versions: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** What the plan needs to know of a table. */
export interface RefreshedTable {
  readonly name: string;
  /** Whether its rows belong to environments. */
  readonly hasEnvironments: boolean;
  /** Whether `mirrored_at` tells when each row changed (R21); otherwise only the table's version shows a change. */
  readonly isStamped: boolean;
  /** Whether it belongs to the log of runs: it grows with every run, and its rows have no time of their change. */
  readonly isLog: boolean;
}

/** Reads the rows of an environment that changed after a time, or replaces all of its rows in this table. */
export interface RefreshStep {
  readonly table: string;
  /** Null for all rows of the table. */
  readonly envId: string | null;
  /** Null if every row is read again. For a log, the number of a transaction instead of a time. */
  readonly after: Instant | null;
  /** Whether the replica may still hold rows that the mirror has deleted. */
  readonly mayHoldDeleted: boolean;
}

/** What a refresh reads. */
export interface RefreshPlan {
  /** Whether that is everything: the replica is new, or one of another mirror or of a lost state of this one. */
  readonly isWhole: boolean;
  readonly steps: readonly RefreshStep[];
}

/** `nonceThen` is the nonce that the mirror has for the newest run that the replica knows; null without such a run. */
export function planRefresh(
  tables: readonly RefreshedTable[],
  known: MirrorVersions | null,
  found: MirrorVersions,
  nonceThen: string | null,
): RefreshPlan {
  if (known === null || isLost(known, found, nonceThen))
    return { isWhole: true, steps: tables.map(({ name }) => stepOf(name, null)) };
  const steps = tables.flatMap(({ name, hasEnvironments, isStamped, isLog }) => {
    if (isStamped) {
      const changed = changedKeys(known.clocks, found.clocks);
      return changed.map((envId) => {
        const after = known.clocks.get(envId) ?? null;
        const isSame = known.removals.get(envId) === found.removals.get(envId);
        return stepOf(name, envId, after, after !== null && !isSame);
      });
    }
    const changed = changedKeys(known.versions.get(name), found.versions.get(name));
    const after = isLog ? changedSince(known, found) : null;
    return changed.map((envId) => stepOf(name, hasEnvironments ? envId : null, after));
  });
  return { isWhole: false, steps };
}

const stepOf = (
  table: string,
  envId: string | null,
  after: Instant | null = null,
  mayHoldDeleted = after !== null,
): RefreshStep => ({ table, envId, after, mayHoldDeleted });

/** A row has only the lower half of its transaction's number, so numbers that are too far apart can't be compared. */
function changedSince(
  { allEndedBefore: then }: MirrorVersions,
  { allEndedBefore: now }: MirrorVersions,
): string | null {
  return BigInt(now) - BigInt(then) < 2n ** 30n ? then : null;
}

/** A clock never runs backwards (R21), and an environment keeps its clock. */
function isLost(known: MirrorVersions, found: MirrorVersions, nonceThen: string | null): boolean {
  if (known.identity !== found.identity || (known.newestRun?.nonce ?? null) !== nonceThen) return true;
  return [...known.clocks].some(([envId, at]) => (found.clocks.get(envId) ?? '') < at);
}

function changedKeys(
  known: ReadonlyMap<string, string> = new Map(),
  found: ReadonlyMap<string, string> = new Map(),
): string[] {
  return [...new Set([...known.keys(), ...found.keys()])].filter((key) => known.get(key) !== found.get(key));
}

/** How far a history is pruned, with the names of `pruned_history` (R17). */
export interface PruningReach extends PrunedHistory {
  /** The same for a pruning that is not complete. */
  readonly pruning_before: Instant | null;
}

/** The stretch of a history in which rows were pruned, or of the log of runs. */
export interface PrunedStretch {
  /** Null for all environments. */
  readonly envId: string | null;
  readonly table: PrunedHistory['history'] | 'sync_stream_runs';
  /** The first time in it, or the first run; null for the beginning of the history. */
  readonly from: string | null;
  readonly before: string;
}

/**
 * Where the log lost rows, by the runs that it lost: pruning a run deletes its rows, except the last one of a stream.
 * Runs that follow each other make one stretch. A refused run, which had no rows, makes one of its own.
 */
export function prunedRuns(known: readonly number[], found: readonly number[]): PrunedStretch[] {
  const stay = new Set(found);
  const stretches: { first: number; last: number }[] = [];
  let isGone = false;
  for (const id of known) {
    const current = isGone ? stretches.at(-1) : undefined;
    isGone = !stay.has(id);
    if (isGone && current !== undefined) current.last = id;
    else if (isGone) stretches.push({ first: id, last: id });
  }
  const table = 'sync_stream_runs' as const;
  return stretches.map(({ first, last }) => ({ envId: null, table, from: String(first), before: String(last + 1) }));
}

/** Where rows were pruned between two states of a mirror. */
export function prunedStretches(known: readonly PruningReach[], found: readonly PruningReach[]): PrunedStretch[] {
  const keyOf = (each: PruningReach): string => JSON.stringify([each.env_id, each.history, each.action]);
  const earlier = new Map(known.map((each) => [keyOf(each), each]));
  return found.flatMap((now) => {
    const was = earlier.get(keyOf(now));
    if (was?.row_count === now.row_count) return [];
    // A pruning that was given up for an earlier time has removed rows before its own.
    const reached = [now.complete_before, now.pruning_before, was?.pruning_before ?? null];
    const before = reached.filter((at) => at !== null).reduce((latest, at) => (at > latest ? at : latest), EPOCH);
    const from = now.action === 'thin' ? (was?.complete_before ?? null) : null;
    return [{ envId: now.env_id, table: now.history, from, before }];
  });
}
