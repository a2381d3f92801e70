import type { Item } from '../world.ts';
import type { Place, Rows } from './programs.ts';

/** The path of each list and the columns that are compared, which every program keeps under these names. */
const LISTS: Readonly<Record<string, readonly [path: string, columns: string]>> = {
  assets: ['assets', 'id name kind source_type description path'],
  table_assets: ['assets/tables', 'id name description db_name schema_name table_name materialization'],
  columns: ['columns', 'id asset_id name data_type'],
  tests: ['tests', 'id name test_type severity asset_id'],
  asset_lineage: ['asset-lineage', 'upstream_asset_id downstream_asset_id'],
  column_lineage: ['column-lineage', 'upstream_column_id downstream_column_id'],
  latest_test_executions: ['latest-test-executions', 'sub_test_unique_id id test_id status'],
  asset_health_scores: ['asset-health-scores', 'asset_id'],
};

/** The rows that the service returns now. */
export async function serviceRows({ url, environment }: Place): Promise<Rows> {
  const rows: Record<string, readonly Item[]> = {};
  for (const [name, [path]] of Object.entries(LISTS))
    rows[name] = await list(`${url}/public/beta/${environment}/${path}`);
  return rows;
}

async function list(address: string): Promise<Item[]> {
  const rows: Item[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const response = await fetch(`${address}?limit=2000${query}`, { headers: { authorization: 'Bearer token' } });
    const page = (await response.json()) as { items: Item[]; has_more: boolean; next_cursor: string };
    rows.push(...page.items);
    cursor = page.has_more ? page.next_cursor : null;
  }
  return rows;
}

/** @returns how a program's rows differ from those of the service, list by list; empty if they are equal */
export function differences(service: Rows, own: Rows): string[] {
  return Object.entries(LISTS).flatMap(([name, [, columns]]) => {
    const fields = columns.split(' ');
    const [right, has] = [service, own].map((rows) => (rows[name] ?? []).map((row) => textOf(row, fields)));
    const [missing, surplus] = [without(right, has), without(has, right)];
    return missing + surplus === 0 ? [] : [`${name}: ${missing} missing or old, ${surplus} surplus or old`];
  });
}

/** How many rows of the first are not in the second, counting repeated ones. */
function without(some: readonly string[] = [], others: readonly string[] = []): number {
  const left = new Map<string, number>();
  for (const row of others) left.set(row, (left.get(row) ?? 0) + 1);
  return some.filter((row) => {
    const count = left.get(row) ?? 0;
    left.set(row, count - 1);
    return count < 1;
  }).length;
}

function textOf(row: Item, fields: readonly string[]): string {
  return JSON.stringify([...fields.map((field) => row[field] ?? null), scoreOf(row)]);
}

/** The total score, which a program may keep in columns or as JSON. */
function scoreOf(row: Item): unknown {
  const total =
    typeof row['total'] === 'string' ? (JSON.parse(row['total']) as Item) : (row['total'] as Item | undefined);
  return total?.['score'] ?? row['score'] ?? row['total__score'] ?? null;
}
