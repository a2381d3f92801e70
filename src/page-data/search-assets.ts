import type { AssetsFound } from './page-data.ts';
import { type PageReads, type PageScope, seen, textOf, valuesIn } from './page-scope.ts';
import { MAX_FOUND, SEARCH_ORDER, SEARCH_PREFILTER, SEARCH_RANK, searchPatterns, trimmedQuery } from './search-rule.ts';

/** SQL of a live asset's database, schema and table, joined by dots. */
export const QUALIFIED_NAME = `nullif(concat_ws('.', db_name, schema_name, table_name), '')`;

/** The live assets whose name, id, qualified name or path contains the text, best match first. */
export function searchAssets(reads: PageReads, scope: PageScope, text: string): AssetsFound {
  const wanted = trimmedQuery(text);
  if (wanted === null) return { rows: [], cut: false };
  const rows = reads.rows({
    sql: `select * from (
        select *, ${SEARCH_RANK} as place from (
          select id, name, kind, path, coalesce(data_platform, bi_platform) as platform, ${QUALIFIED_NAME} as qualified_name
          from live_assets where ${seen(scope, { env: 'env_id', asset: 'id' })}) where ${SEARCH_PREFILTER}
      ) where place is not null order by place, ${SEARCH_ORDER} limit ${MAX_FOUND + 1}`,
    values: valuesIn(scope, searchPatterns(wanted)),
  });
  return {
    rows: rows.slice(0, MAX_FOUND).map((row) => ({
      id: String(row['id']),
      name: textOf(row['name']),
      kind: textOf(row['kind']),
      path: textOf(row['path']),
      platform: textOf(row['platform']),
    })),
    cut: rows.length > MAX_FOUND,
  };
}
