import type { AssetLabel } from './page-data.ts';
import { type PageScope, selectRows } from './page-scope.ts';
import { selectValues } from './sql.ts';

/** The labels of assets that the reader may see, by id. An asset that is not live has only its id. */
export function labelsOf(scope: PageScope, ids: readonly string[]): (id: string) => AssetLabel {
  const sql = `select id, name, kind from live_assets where env_id = @env and id in ${selectValues('ids')}`;
  const known = new Map(selectRows<AssetLabel>(scope, sql, { ids }).map((label) => [label.id, label]));
  return (id) => known.get(id) ?? { id, name: null, kind: null };
}

/** The view of each list: the column that identifies the asset or test, and the column with the element. */
const ELEMENTS = {
  assetOwners: { view: 'asset_owners', of: 'asset_id', element: 'owner' },
  assetTags: { view: 'asset_tags', of: 'asset_id', element: 'tag' },
  testOwners: { view: 'test_owners', of: 'test_id', element: 'owner' },
} as const;

/** The owners or tags of assets or tests, by id. The caller has checked that the reader may see them. */
export function elementsOf(scope: PageScope, list: keyof typeof ELEMENTS, ids: readonly string[]) {
  const { view, of, element } = ELEMENTS[list];
  const sql = `select ${of} as whose, ${element} as element from ${view}
    where env_id = @env and ${of} in ${selectValues('ids')} order by element`;
  const rows = selectRows<{ whose: string; element: string }>(scope, sql, { ids });
  const groups = Map.groupBy(rows, ({ whose }) => whose);
  return new Map([...groups].map(([whose, own]) => [whose, own.map((row) => row.element)]));
}
