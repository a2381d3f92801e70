import { firstChunk } from '../core/chunk.ts';
import { decodePage, joinKey } from '../core/decode.ts';
import { type ExistingRow, isLive } from '../core/difference.ts';
import type { TableFilter, TableGroup } from '../core/mirror-reader.ts';
import type { Query } from '../core/source.ts';
import type { Row } from '../core/stream.ts';
import { addExtras, isHeldLive, keysOf, type StreamComparison } from './compare-stream.ts';
import { readPages, type StreamContext } from './contexts.ts';
import { type Mismatch, mismatchOf } from './mismatches.ts';

/** By what the tables are parted to close in on a difference, and the parameter that asks for a part. */
const LEVELS = [
  { field: 'db_name', parameter: 'db_names' },
  { field: 'schema_name', parameter: 'schema_names' },
] as const;

type CountLevel = (typeof LEVELS)[number];

/** What counting the tables has shown. */
export interface CountComparison extends StreamComparison {
  /** Tables that both sides hold, in another schema or database, or of another kind. */
  readonly moved: Mismatch[];
  /** The source did not count: the ids of all tables were read (R15). */
  uncounted?: true;
}

/**
 * Compares how many tables there are: one request while the numbers agree. Where they do not, it closes in on the smallest
 * groups that differ, by database and schema, and reads the ids of those alone; or of all tables, where that takes fewer
 * requests. `sight` is of the typed stream of tables. @throws SyncError `absent` when the source does not count (R15)
 */
export async function compareCounts(streamContext: StreamContext, countComparison: CountComparison): Promise<void> {
  const shown = await count(streamContext, {});
  const held = await streamContext.holding.count(streamContext.stream);
  countComparison.rows = shown;
  if (shown === held) return;
  const pages = Math.ceil(Math.max(shown, held) / streamContext.context().options.pageSize);
  for (const group of await closeIn(streamContext, {}, { levels: LEVELS, shown, budget: { requests: pages - 1 } }))
    await readIds(streamContext, group, countComparison);
}

/** Compares the ids of the tables of one group, or of all of them. @returns how many the source has shown */
export async function readIds(
  streamContext: StreamContext,
  group: TableFilter,
  countComparison: CountComparison,
): Promise<number> {
  const { stream, holding } = streamContext;
  let shown = 0;
  await holding.forget(stream);
  await readPages(streamContext, queryOf(group), {
    begin: () => {
      shown = 0;
    },
    page: async ({ items }) => {
      shown += items.length;
      const decoded = decodePage(stream, items, streamContext.context());
      const keys = keysOf(decoded);
      const held = await holding.existing(stream, keys);
      await holding.recordSeen(stream, keys);
      for (const key of keys)
        if (!isHeldLive(key, held)) countComparison.fresh.push(mismatchOf(key, { what: 'missing', fields: [] }));
      for (const { key, row } of decoded.rows)
        if (isMoved(row, held.get(joinKey(key))))
          countComparison.moved.push(mismatchOf(key, { what: 'unequal', fields: [] }));
    },
  });
  await addExtras(streamContext, countComparison, group);
  await holding.forget(stream);
  return shown;
}

function isMoved(shown: Row, held: ExistingRow | undefined): boolean {
  if (held === undefined || !isLive(held.row)) return false;
  return held.row['kind'] !== 'table' || LEVELS.some(({ field }) => held.row[field] !== shown[field]);
}

/**
 * The smallest groups whose numbers differ. Tables in no group that the mirror knows are read with all that the filter meets, and
 * so are those of a filter where counting on would take more requests than there are pages to read instead.
 * It ends: each turn is one level deeper, and within a level each turn has half the groups.
 */
async function closeIn(
  streamContext: StreamContext,
  within: TableFilter,
  { levels, shown, budget }: { levels: readonly CountLevel[]; shown: number; budget: RequestBudget },
): Promise<TableFilter[]> {
  const [level, ...deeper] = levels;
  if (level === undefined) return [within];
  const groups = await streamContext.holding.groups(streamContext.stream, level.field, within);
  // All of them once, then at least one of each half.
  if (budget.requests < 1 + Math.ceil(Math.log2(Math.max(1, groups.length)))) return [within];
  const part = { level, within, budget };
  const known = await countGroups(streamContext, groups, part);
  const elsewhere = (await streamContext.holding.count(streamContext.stream, within)) - rowsOf(groups);
  if (shown - known !== elsewhere) return [within];
  const differing = await halve(streamContext, groups, { ...part, shown: known });
  if (budget.requests < 0) return [within];
  const found: TableFilter[] = [];
  for (const { value, shown: inGroup } of differing) {
    const group = { ...within, [level.field]: value };
    found.push(...(await closeIn(streamContext, group, { levels: deeper, shown: inGroup, budget })));
  }
  return found;
}

/** Requests that counting may still take. */
interface RequestBudget {
  requests: number;
}

interface TableRange {
  readonly level: CountLevel;
  readonly within: TableFilter;
  readonly budget: RequestBudget;
}

/** The groups whose numbers differ, each with the source's: a half's number tells the other's. */
async function halve(
  streamContext: StreamContext,
  groups: readonly TableGroup[],
  { shown, ...part }: TableRange & { shown: number },
): Promise<{ value: string; shown: number }[]> {
  if (groups.length === 0 || shown === rowsOf(groups) || part.budget.requests < 0) return [];
  const [first] = groups;
  if (groups.length === 1 && first !== undefined) return [{ value: first.value, shown }];
  const middle = Math.ceil(groups.length / 2);
  const inFirst = await countGroups(streamContext, groups.slice(0, middle), part);
  return [
    ...(await halve(streamContext, groups.slice(0, middle), { ...part, shown: inFirst })),
    ...(await halve(streamContext, groups.slice(middle), { ...part, shown: shown - inFirst })),
  ];
}

/** What the source counts in these groups, in as many requests as their names need; each has at least one name. */
async function countGroups(
  streamContext: StreamContext,
  groups: readonly TableGroup[],
  { level, within, budget }: TableRange,
): Promise<number> {
  let values = groups.map(({ value }) => value);
  let shown = 0;
  while (values.length > 0) {
    const chunk = firstChunk(level.parameter, values);
    values = values.slice(chunk.length);
    budget.requests -= 1;
    shown += await count(streamContext, { ...queryOf(within), [level.parameter]: chunk });
  }
  return shown;
}

function count({ source, envId, onRequest, continueOrStop }: StreamContext, query: Query): Promise<number> {
  continueOrStop();
  return source.matchedCount({ path: [envId, 'asset-health-scores', 'aggregate'], query }, onRequest);
}

function queryOf(within: TableFilter): Query {
  return Object.fromEntries(
    LEVELS.flatMap(({ field, parameter }) => (within[field] === undefined ? [] : [[parameter, [within[field]]]])),
  );
}

function rowsOf(groups: readonly TableGroup[]): number {
  return groups.reduce((sum, { rows }) => sum + rows, 0);
}
