import { firstChunk } from '../core/chunk.ts';
import { decodePage, joinKey } from '../core/decode.ts';
import { isLive } from '../core/difference.ts';
import type { TableFilter, TableGroup } from '../core/holding.ts';
import type { Query } from '../core/source.ts';
import { readPages, type Sight } from './verify-sight.ts';
import type { Compared } from './verify-stream.ts';
import { add, bookmark, room, type Suspects, suspectOf } from './verify-suspects.ts';

/** By what the tables are parted to close in on a difference, and the parameter that asks for a part. */
const LEVELS = [
  { field: 'db_name', parameter: 'db_names' },
  { field: 'schema_name', parameter: 'schema_names' },
] as const;

type Level = (typeof LEVELS)[number];

/** What counting the tables has shown. */
export interface Counted extends Compared {
  /** Tables that both sides hold, in another schema or database, or of another kind. */
  readonly moved: Suspects;
  /** The source did not count: the ids of all tables were read (R15). */
  uncounted?: true;
}

/**
 * Compares how many tables there are: one request while the numbers agree. Where they do not, it closes in on the smallest
 * groups that differ, by database and schema, and reads the ids of those alone. `sight` is of the typed stream of tables.
 * @throws SyncError `absent` when the source does not count (R15)
 */
export async function compareCounts(sight: Sight, counted: Counted): Promise<void> {
  counted.rows = await count(sight, {});
  if (counted.rows === sight.holding.count(sight.stream)) return;
  for (const group of await closeIn(sight, {}, { levels: LEVELS, shown: counted.rows }))
    await readIds(sight, group, counted);
}

/** Compares the ids of the tables of one group, or of all of them. */
export async function readIds(sight: Sight, group: TableFilter, counted: Counted): Promise<void> {
  const { stream, holding } = sight;
  holding.forget(stream);
  const takeBack = [bookmark(counted.suspects), bookmark(counted.moved)];
  await readPages(sight, queryOf(group), {
    begin: () => {
      for (const each of takeBack) each();
    },
    page: ({ items }) => {
      const decoded = decodePage(stream, items);
      const keys = [...decoded.rows, ...decoded.rejected].flatMap(({ key }) => (key === null ? [] : [key]));
      const held = holding.held(stream, keys);
      holding.see(stream, keys);
      for (const key of keys) {
        const row = held.get(joinKey(key))?.row;
        if (row === undefined || !isLive(row)) add(counted.suspects, suspectOf(key, { what: 'missing', fields: [] }));
        else if (Object.entries({ kind: 'table', ...group }).some(([field, value]) => row[field] !== value))
          add(counted.moved, suspectOf(key, { what: 'unequal', fields: [] }));
      }
    },
  });
  const { keys, total } = holding.unseen(stream, room(counted.suspects), group);
  for (const key of keys) add(counted.suspects, suspectOf(key, { what: 'extra', fields: [] }));
  counted.suspects.beyond.extra += total - keys.length;
  holding.forget(stream);
}

/**
 * The smallest groups whose numbers differ. Tables in no group that the mirror knows are read with all that the filter meets.
 * It ends: each turn is one level deeper, and within a level each turn has half the groups.
 */
async function closeIn(
  sight: Sight,
  within: TableFilter,
  { levels, shown }: { levels: readonly Level[]; shown: number },
): Promise<TableFilter[]> {
  const [level, ...deeper] = levels;
  if (level === undefined) return [within];
  const groups = sight.holding.groups(sight.stream, level.field, within);
  const known = await countGroups(sight, groups, { level, within });
  const elsewhere = sight.holding.count(sight.stream, within) - rowsOf(groups);
  if (shown - known !== elsewhere) return [within];
  const differing = await halve(sight, groups, { level, within, shown: known });
  const found: TableFilter[] = [];
  for (const { value, shown: inGroup } of differing)
    found.push(...(await closeIn(sight, { ...within, [level.field]: value }, { levels: deeper, shown: inGroup })));
  return found;
}

interface Part {
  readonly level: Level;
  readonly within: TableFilter;
}

/** The groups whose numbers differ, each with the source's: a half's number tells the other's. */
async function halve(
  sight: Sight,
  groups: readonly TableGroup[],
  { shown, ...part }: Part & { shown: number },
): Promise<{ value: string; shown: number }[]> {
  if (groups.length === 0 || shown === rowsOf(groups)) return [];
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
async function countGroups(sight: Sight, groups: readonly TableGroup[], { level, within }: Part): Promise<number> {
  let values = groups.map(({ value }) => value);
  let shown = 0;
  while (values.length > 0) {
    const chunk = firstChunk(level.parameter, values);
    values = values.slice(chunk.length);
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
