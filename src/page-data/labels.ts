import type { AssetLabel } from './page-data.ts';
import { type PageReads, type PageScope, textOf } from './page-scope.ts';
import { selectValues } from './sql.ts';

/** The labels of assets that the reader may see, by id. An asset that is not live has only its id. */
export function labelsOf(reads: PageReads, { env }: PageScope, ids: readonly string[]): (id: string) => AssetLabel {
  const rows = reads.rows({
    sql: `select id, name, kind from live_assets where env_id = @env and id in ${selectValues('ids')}`,
    values: { env, ids: JSON.stringify(ids) },
  });
  const known = new Map(rows.map((row) => [String(row['id']), row]));
  return (id) => ({ id, name: textOf(known.get(id)?.['name']), kind: textOf(known.get(id)?.['kind']) });
}

/** The view of each list: the column that identifies the asset or test, and the column with the element. */
const ELEMENTS = {
  assetOwners: { view: 'asset_owners', of: 'asset_id', element: 'owner' },
  assetTags: { view: 'asset_tags', of: 'asset_id', element: 'tag' },
  testOwners: { view: 'test_owners', of: 'test_id', element: 'owner' },
} as const;

type ElementList = keyof typeof ELEMENTS;

/** The owners or tags of assets or tests, by id. The caller has checked that the reader may see them. */
export function elementsOf(
  reads: PageReads,
  { env }: PageScope,
  { list, ids }: { readonly list: ElementList; readonly ids: readonly string[] },
): ReadonlyMap<string, readonly string[]> {
  const { view, of, element } = ELEMENTS[list];
  const rows = reads.rows({
    sql: `select ${of} as whose, ${element} as element from ${view}
      where env_id = @env and ${of} in ${selectValues('ids')} order by element`,
    values: { env, ids: JSON.stringify(ids) },
  });
  const groups = Map.groupBy(rows, ({ whose }) => String(whose));
  return new Map([...groups].map(([whose, own]) => [whose, own.map((row) => String(row['element']))]));
}
