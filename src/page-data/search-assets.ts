import type { AssetsFound } from './page-data.ts';
import { type PageScope, seen, selectRows } from './page-scope.ts';
import { MAX_FOUND, SEARCH_ORDER, SEARCH_PREFILTER, SEARCH_RANK, searchPatterns, trimmedQuery } from './search-rule.ts';

/** SQL of a live asset's database, schema and table, joined by dots. */
export const QUALIFIED_NAME = `nullif(concat_ws('.', db_name, schema_name, table_name), '')`;

/** The live assets whose name, id, qualified name or path contains the text, best match first. */
export function searchAssets(scope: PageScope, { q }: { readonly q: string }): AssetsFound {
  const wanted = trimmedQuery(q);
  if (wanted === null) return { rows: [], cut: false };
  const sql = `select id, name, kind, path, platform from (
      select *, ${SEARCH_RANK} as place from (
        select id, name, kind, path, coalesce(data_platform, bi_platform) as platform, ${QUALIFIED_NAME} as qualified_name
        from live_assets where ${seen(scope, 'id')}) where ${SEARCH_PREFILTER}
    ) where place is not null order by place, ${SEARCH_ORDER} limit ${MAX_FOUND + 1}`;
  const rows = selectRows<AssetsFound['rows'][number]>(scope, sql, searchPatterns(wanted));
  return { rows: rows.slice(0, MAX_FOUND), cut: rows.length > MAX_FOUND };
}
