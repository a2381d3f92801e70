import { FAILING } from '../../../schema/data-tests.ts';
import { prunedHistory } from '../../../schema/histories.ts';
import { type MirrorClock, tick } from '../../../state/mirror-clock.ts';
import type { PruningRule } from '../../core/decide/retention.ts';
import { EPOCH, type Instant } from '../../core/time/instant.ts';
import { withScoreSeries } from './health-means.ts';
import { execute, type MirrorScope, rows, run, type SqlDialect, type SqlStatements, value } from './statements.ts';
import { list } from './tables.ts';
import { upsert } from './write-rows.ts';

/** A transaction looks at this many assets or tests, and removes at most this many rows. */
const IDS_PER_SLICE = 50;
const ROWS_PER_SLICE = 20_000;

/** How to prune a history. */
interface PruningMethod {
  /** The column that the slices follow. */
  readonly by: string;
  readonly key: readonly string[];
  /** Selects the keys of the rows to remove from a slice. */
  readonly selectRemovable: (dialect: SqlDialect) => string;
  /** What is removed with every slice. */
  readonly also?: string;
}

const SCORES = { by: 'asset_id', key: ['asset_id', 'dimension', 'bucket_at'] } as const;

/** The scores `h` of a slice. */
const FROM_SCORES = `(
    ${withScoreSeries({ first: ' and h.asset_id > @after', next: 's.asset_id < @through' })}
    select asset_id, dimension from series where dimension is not null
  ) s join asset_health_score_history h on h.env_id = @env and h.asset_id = s.asset_id and h.dimension = s.dimension
    and h.bucket_at >= @from and h.bucket_at < @before`;

const PRUNINGS: Readonly<Record<string, PruningMethod>> = {
  'delete asset_health_score_history': {
    ...SCORES,
    selectRemovable: () => `select h.asset_id, h.dimension, h.bucket_at from ${FROM_SCORES}`,
    also: 'delete from asset_health_means where env_id = @env and day < @day',
  },
  // `health_daily` shows the last score of a day, so it stays the same.
  'thin asset_health_score_history': {
    ...SCORES,
    selectRemovable: ({ day }) => `select asset_id, dimension, bucket_at from (
      select h.asset_id, h.dimension, h.bucket_at, ${day('h.bucket_at')} as day,
        lead(${day('h.bucket_at')}) over (partition by h.asset_id, h.dimension order by h.bucket_at) as next_day
      from ${FROM_SCORES}) o where day = next_day`,
  },
  // An incident that lasts until `@before` or longer keeps its first run, which tells since when it lasts. The oldest
  // runs go first, so a part of a slice leaves what pruning up to an earlier time would leave.
  'delete test_executions': {
    by: 'test_id',
    key: ['sub_test_unique_id', 'id'],
    selectRemovable: () => `select sub_test_unique_id, id from (
      select o.*, row_number() over (
        partition by sub_test_unique_id, later_passes, is_failing order by start_time, id) as place
      from (select x.sub_test_unique_id, x.id, x.start_time,
          case when x.status in ${FAILING} then 1 else 0 end as is_failing,
          sum(case when x.status = 'PASS' then 1 else 0 end) over (
            partition by x.sub_test_unique_id order by x.start_time desc, x.id desc) as later_passes
        from test_executions x
        where x.env_id = @env and x.test_id > @after and x.test_id <= @through and x.start_time < @before) o) p
      where not (is_failing = 1 and later_passes = 0 and place = 1) order by start_time, id`,
  },
};

/** How far a history is pruned: a part of a row of `pruned_history`. */
type PruningProgress = Pick<
  typeof prunedHistory.$inferSelect,
  'complete_before' | 'pruning_before' | 'pruned_through' | 'row_count'
>;

const NOT_PRUNED: PruningProgress = { complete_before: null, pruning_before: null, pruned_through: '', row_count: 0 };

/** The rows before a time of the ids after one, up to another; null if no id is left. */
interface PrunedSlice {
  readonly after: string;
  readonly through: string | null;
  readonly before: Instant;
}

/** Prunes a slice of a history and records it (R17). Returns how many rows it removed; null if nothing is left. */
export function* pruneHistory(
  scope: MirrorScope,
  { history, action, before: wanted }: PruningRule,
  clock: MirrorClock,
): SqlStatements<number | null> {
  const pruning = PRUNINGS[`${action} ${history}`];
  const [known] = (yield* rows(scope, PROGRESS, { history, action })) as unknown as readonly PruningProgress[];
  const progress = known ?? NOT_PRUNED;
  if (pruning === undefined || (progress.complete_before ?? EPOCH) >= wanted) return null;
  // Before anything is decided: with several writers, it locks the environment.
  const mirroredAt = yield* tick(clock, scope.envId);
  const { pruning_before: begun } = progress;
  // A pruning that goes further than the options now allow is not continued.
  const { before, after } =
    begun !== null && begun <= wanted
      ? { before: begun, after: progress.pruned_through }
      : { before: wanted, after: '' };
  const through = (yield* value(scope, lastOfSlice(history, pruning), { after })) as string | null;
  const slice = { before, after, through };
  const removed = yield* removeSlice(scope, history, { pruning, slice, from: progress.complete_before ?? EPOCH });
  const row = { history, action, ...progressAfter(progress, slice, removed) };
  yield* upsert({ ...scope, mirroredAt }, prunedHistory, [row]);
  return removed;
}

const PROGRESS = `select complete_before, pruning_before, pruned_through, row_count from pruned_history
  where env_id = @env and history = @history and action = @action`;

function progressAfter(progress: PruningProgress, slice: PrunedSlice, removed: number): PruningProgress {
  const { complete_before, row_count } = progress;
  const { before, after, through } = slice;
  if (through === null) return { complete_before: before, pruning_before: null, pruned_through: '', row_count };
  // A full slice may have left rows.
  const pruned_through = removed < ROWS_PER_SLICE ? through : after;
  return { complete_before, pruning_before: before, pruned_through, row_count: row_count + removed };
}

/** Selects the last id of the slice after `@after`: one index lookup per id. */
function lastOfSlice(history: string, { by }: PruningMethod): string {
  const next = (than: string) => `select min(h.${by}) from ${history} h where h.env_id = @env and h.${by} > ${than}`;
  return `with recursive ids (id, place) as (
      select (${next('@after')}), 1
      union all select (${next('i.id')}), i.place + 1 from ids i where i.id is not null and i.place < ${IDS_PER_SLICE}
    ) select max(id) from ids`;
}

function* removeSlice(
  scope: MirrorScope,
  history: PruningRule['history'],
  { pruning, slice, from }: { pruning: PruningMethod; slice: PrunedSlice; from: Instant },
): SqlStatements<number> {
  const { key, selectRemovable, also } = pruning;
  if (slice.through === null) return 0;
  if (also !== undefined) yield* execute(scope, also, { day: slice.before.slice(0, '2026-11-20'.length) });
  const removable = `${selectRemovable(scope.dialect)} limit ${ROWS_PER_SLICE}`;
  const sql = `delete from ${history} where env_id = @env and (${list(key)}) in (${removable})`;
  return yield* run(scope, sql, { ...slice, from });
}
