import { firstChunk } from '../../core/chunk.ts';
import { decodePage, joinKey } from '../../core/decode.ts';
import { type HeldRow, isLive } from '../../core/difference.ts';
import type { TableFilter, TableGroup } from '../../core/holding.ts';
import type { Query } from '../../core/source.ts';
import type { Row } from '../../core/stream.ts';
import { addExtras, type Compared, isHeldLive, keysOf } from './compare-stream.ts';
import { readPages, type Sight } from './sight.ts';
import { type Suspect, suspectOf } from './suspects.ts';

/** By what the tables are parted to close in on a difference, and the parameter that asks for a part. */
const LEVELS = [
  { field: 'db_name', parameter: 'db_names' },
  { field: 'schema_name', parameter: 'schema_names' },
] as const;

type Level = (typeof LEVELS)[number];

/** What counting the tables has shown. */
export interface Counted extends Compared {
  /** Tables that both sides hold, in another schema or database, or of another kind. */
  readonly moved: Suspect[];
  /** The source did not count: the ids of all tables were read (R15). */
  uncounted?: true;
}

/**
 * Compares how many tables there are: one request while the numbers agree. Where they do not, it closes in on the smallest
 * groups that differ, by database and schema, and reads the ids of those alone; or of all tables, where that takes fewer
 * requests. `sight` is of the typed stream of tables. @throws SyncError `absent` when the source does not count (R15)
 */
export async function compareCounts(sight: Sight, counted: Counted): Promise<void> {
  const shown = await count(sight, {});
  const held = await sight.holding.count(sight.stream);
  counted.rows = shown;
  if (shown === held) return;
  const pages = Math.ceil(Math.max(shown, held) / sight.context().options.pageSize);
  for (const group of await closeIn(sight, {}, { levels: LEVELS, shown, budget: { requests: pages - 1 } }))
    await readIds(sight, group, counted);
}

/** Compares the ids of the tables of one group, or of all of them. @returns how many the source has shown */
export async function readIds(sight: Sight, group: TableFilter, counted: Counted): Promise<number> {
  const { stream, holding } = sight;
  let shown = 0;
  await holding.forget(stream);
  await readPages(sight, queryOf(group), {
    begin: () => {
      shown = 0;
    },
    page: async ({ items }) => {
      shown += items.length;
      const decoded = decodePage(stream, items, sight.context());
      const keys = keysOf(decoded);
      const held = await holding.held(stream, keys);
      await holding.see(stream, keys);
      for (const key of keys)
        if (!isHeldLive(key, held)) counted.fresh.push(suspectOf(key, { what: 'missing', fields: [] }));
      for (const { key, row } of decoded.rows)
        if (isMoved(row, held.get(joinKey(key)))) counted.moved.push(suspectOf(key, { what: 'unequal', fields: [] }));
    },
  });
  await addExtras(sight, counted, group);
  await holding.forget(stream);
  return shown;
}

function isMoved(shown: Row, held: HeldRow | undefined): boolean {
  if (held === undefined || !isLive(held.row)) return false;
  return held.row['kind'] !== 'table' || LEVELS.some(({ field }) => held.row[field] !== shown[field]);
}

/**
 * The smallest groups whose numbers differ. Tables in no group that the mirror knows are read with all that the filter meets, and
 * so are those of a filter where counting on would take more requests than there are pages to read instead.
 * It ends: each turn is one level deeper, and within a level each turn has half the groups.
 */
async function closeIn(
  sight: Sight,
  within: TableFilter,
  { levels, shown, budget }: { levels: readonly Level[]; shown: number; budget: Budget },
): Promise<TableFilter[]> {
  const [level, ...deeper] = levels;
  if (level === undefined) return [within];
  const groups = await sight.holding.groups(sight.stream, level.field, within);
  // All of them once, then at least one of each half.
  if (budget.requests < 1 + Math.ceil(Math.log2(Math.max(1, groups.length)))) return [within];
  const part = { level, within, budget };
  const known = await countGroups(sight, groups, part);
  const elsewhere = (await sight.holding.count(sight.stream, within)) - rowsOf(groups);
  if (shown - known !== elsewhere) return [within];
  const differing = await halve(sight, groups, { ...part, shown: known });
  if (budget.requests < 0) return [within];
  const found: TableFilter[] = [];
  for (const { value, shown: inGroup } of differing) {
    const group = { ...within, [level.field]: value };
    found.push(...(await closeIn(sight, group, { levels: deeper, shown: inGroup, budget })));
  }
  return found;
}

/** Requests that counting may still take. */
interface Budget {
  requests: number;
}

interface Part {
  readonly level: Level;
  readonly within: TableFilter;
  readonly budget: Budget;
}

/** The groups whose numbers differ, each with the source's: a half's number tells the other's. */
async function halve(
  sight: Sight,
  groups: readonly TableGroup[],
  { shown, ...part }: Part & { shown: number },
): Promise<{ value: string; shown: number }[]> {
  if (groups.length === 0 || shown === rowsOf(groups) || part.budget.requests < 0) return [];
  const [first] = groups;
  if (groups.length === 1 && first !== undefined) return [{ value: first.value, shown }];
  const middle = Math.ceil(groups.length / 2);
  const inFirst = await countGroups(sight, groups.slice(0, middle), part);
  return [
    ...(await halve(sight, groups.slice(0, middle), { ...part, shown: inFirst })),
    ...(await halve(sight, groups.slice(middle), { ...part, shown: shown - inFirst })),
  ];
}

/** What the source counts in these groups, in as many requests as their names need; each has at least one name. */
async function countGroups(
  sight: Sight,
  groups: readonly TableGroup[],
  { level, within, budget }: Part,
): Promise<number> {
  let values = groups.map(({ value }) => value);
  let shown = 0;
  while (values.length > 0) {
    const chunk = firstChunk(level.parameter, values);
    values = values.slice(chunk.length);
    budget.requests -= 1;
    shown += await count(sight, { ...queryOf(within), [level.parameter]: chunk });
  }
  return shown;
}

function count({ source, envId, onRequest, continueOrStop }: Sight, query: Query): Promise<number> {
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
