import { chunksOf } from '../core/decide/chunk.ts';
import { type ExistingRow, isLive } from '../core/decide/difference.ts';
import { decodePage, joinKey } from '../core/decode/decode.ts';
import { SyncError } from '../core/errors.ts';
import type { TableFilter, TableGroup } from '../core/ports/mirror-reader.ts';
import type { Query } from '../core/ports/source.ts';
import type { Row } from '../core/stream.ts';
import { addExtras, isLiveIn, keysOf } from './compare-stream.ts';
import type { StreamContext } from './contexts.ts';
import { type Mismatch, mismatchOf } from './mismatch.ts';
import { readList } from './read-list.ts';
import type { StreamVerification } from './stream-verification.ts';

/** The fields that group the tables, widest group first, and the parameter that requests a group. */
const LEVELS = [
  { field: 'db_name', parameter: 'db_names' },
  { field: 'schema_name', parameter: 'schema_names' },
] as const;

type CountLevel = (typeof LEVELS)[number];

/**
 * Compares the number of tables, with one request while the numbers agree. Where they differ, it finds the smallest
 * differing groups, by database and schema, and reads only their ids; or the ids of all tables if that takes fewer
 * requests or the source does not count. `tables` is the typed stream, `verification` that of the stream of all assets.
 * @returns tables that both sides have, but in another schema or database, or of another kind
 */
export async function compareCounts(tables: StreamContext, verification: StreamVerification): Promise<Mismatch[]> {
  const counted = await countTables(tables);
  verification.isUncounted = counted === null;
  const all: Mismatch[] = [];
  let shown = 0;
  for (const group of counted?.differing ?? [{}]) {
    const { rows, moved } = await compareIds(tables, group, verification);
    shown += rows;
    all.push(...moved);
  }
  verification.rows = counted?.shown ?? shown;
  return all;
}

/**
 * The source's number, and the smallest groups whose numbers differ from the mirror's. Null if the source does not
 * count, or stops counting before the groups are found (R15).
 */
async function countTables(tables: StreamContext): Promise<{ shown: number; differing: TableFilter[] } | null> {
  try {
    const shown = await count(tables, {});
    const inMirror = await tables.reader.count(tables.stream);
    if (shown === inMirror) return { shown, differing: [] };
    const pages = Math.ceil(Math.max(shown, inMirror) / tables.context().options.pageSize);
    const budget = { requests: pages - 1 };
    return { shown, differing: await narrowDown(tables, {}, { levels: LEVELS, shown, budget }) };
  } catch (error) {
    if (error instanceof SyncError && error.recovery === 'not-live') return null;
    throw error;
  }
}

async function compareIds(
  tables: StreamContext,
  group: TableFilter,
  verification: StreamVerification,
): Promise<{ rows: number; moved: Mismatch[] }> {
  const { stream, reader } = tables;
  const moved: Mismatch[] = [];
  let rows = 0;
  await reader.forget(stream);
  await readList(tables, queryOf(group), {
    onStart() {
      rows = 0;
    },
    async onPage({ items }) {
      rows += items.length;
      const decoded = decodePage(stream, items, tables.context());
      const keys = keysOf(decoded);
      const existing = await reader.existing(stream, keys);
      await reader.recordSeen(stream, keys);
      for (const key of keys)
        if (!isLiveIn(existing, key)) verification.fresh.push(mismatchOf(key, { what: 'missing', fields: [] }));
      for (const { key, row } of decoded.rows)
        if (isMoved(row, existing.get(joinKey(key)))) moved.push(mismatchOf(key, { what: 'unequal', fields: [] }));
    },
  });
  await addExtras(verification, stream, group);
  await reader.forget(stream);
  return { rows, moved };
}

function isMoved(shown: Row, existing: ExistingRow | undefined): boolean {
  if (existing === undefined || !isLive(existing.row)) return false;
  return existing.row['kind'] !== 'table' || LEVELS.some(({ field }) => existing.row[field] !== shown[field]);
}

/**
 * The smallest groups whose numbers differ. A group is read whole if tables differ that are in none of its smaller
 * groups, or if counting those would take more requests than reading its pages. It ends because each call goes one
 * level deeper, and within a level each call halves the groups.
 */
async function narrowDown(
  tables: StreamContext,
  within: TableFilter,
  { levels, shown, budget }: { levels: readonly CountLevel[]; shown: number; budget: RequestBudget },
): Promise<TableFilter[]> {
  const [level, ...deeper] = levels;
  if (level === undefined) return [within];
  const groups = await tables.reader.groups(tables.stream, level.field, within);
  // Counting takes one request for all groups, then at least one per half.
  if (budget.requests < 1 + Math.ceil(Math.log2(Math.max(1, groups.length)))) return [within];
  /** Takes as many requests as the names of the groups need. */
  const countIn = async (some: readonly TableGroup[]): Promise<number> => {
    const values = some.map(({ value }) => value);
    let found = 0;
    for (const chunk of chunksOf(level.parameter, values)) {
      budget.requests -= 1;
      found += await count(tables, { ...queryOf(within), [level.parameter]: chunk });
    }
    return found;
  };
  const known = await countIn(groups);
  const elsewhere = (await tables.reader.count(tables.stream, within)) - rowsOf(groups);
  if (shown - known !== elsewhere) return [within];
  const differing = await halve(groups, known, { countIn, budget });
  if (budget.requests < 0) return [within];
  const found: TableFilter[] = [];
  for (const { value, shown: inGroup } of differing) {
    const group = { ...within, [level.field]: value };
    found.push(...(await narrowDown(tables, group, { levels: deeper, shown: inGroup, budget })));
  }
  return found;
}

interface RequestBudget {
  requests: number;
}

/** The groups whose numbers differ, each with the source's number. Counting one half yields the other's number too. */
async function halve(
  groups: readonly TableGroup[],
  shown: number,
  counting: { readonly countIn: (some: readonly TableGroup[]) => Promise<number>; readonly budget: RequestBudget },
): Promise<{ value: string; shown: number }[]> {
  if (groups.length === 0 || shown === rowsOf(groups) || counting.budget.requests < 0) return [];
  const [first] = groups;
  if (groups.length === 1 && first !== undefined) return [{ value: first.value, shown }];
  const middle = Math.ceil(groups.length / 2);
  const [half, rest] = [groups.slice(0, middle), groups.slice(middle)];
  const inHalf = await counting.countIn(half);
  return [...(await halve(half, inHalf, counting)), ...(await halve(rest, shown - inHalf, counting))];
}

function count({ source, environment, onRequest, continueOrStop }: StreamContext, query: Query): Promise<number> {
  continueOrStop();
  return source.matchedCount({ path: [environment.id, 'asset-health-scores', 'aggregate'], query }, onRequest);
}

function queryOf(within: TableFilter): Query {
  return Object.fromEntries(
    LEVELS.flatMap(({ field, parameter }) => (within[field] === undefined ? [] : [[parameter, [within[field]]]])),
  );
}

function rowsOf(groups: readonly TableGroup[]): number {
  return groups.reduce((sum, { rows }) => sum + rows, 0);
}
