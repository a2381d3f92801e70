import type { AssetsFound } from './page-data.ts';
import { type PageReads, type PageScope, seen, textOf, valuesIn } from './page-scope.ts';

const MOST_FOUND = 50;

/** The live assets whose name or path holds the text: the name itself first, then names that begin with it, then short names. */
export function assetsFound(pageReads: PageReads, scope: PageScope, text: string): AssetsFound {
  const wanted = text.trim();
  if (wanted === '') return { rows: [], cut: false };
  const holding = escaped(wanted);
  const rows = pageReads.rows({
    sql: `select id, name, kind, path, data_platform, bi_platform from live_assets
      where ${seen(scope, { env: 'env_id', asset: 'id' })}
        and (name like @within escape '\\' or path like @within escape '\\')
      order by case when name like @whole escape '\\' then 0 when name like @start escape '\\' then 1
        when name like @within escape '\\' then 2 else 3 end, length(name), name, id limit ${MOST_FOUND + 1}`,
    values: valuesIn(scope, { whole: holding, start: `${holding}%`, within: `%${holding}%` }),
  });
  return {
    rows: rows.slice(0, MOST_FOUND).map((row) => ({
      id: String(row['id']),
      name: textOf(row['name']),
      kind: textOf(row['kind']),
      path: textOf(row['path']),
      platform: textOf(row['data_platform'] ?? row['bi_platform']),
    })),
    cut: rows.length > MOST_FOUND,
  };
}

/** The text as a pattern of LIKE that only it fits. */
const escaped = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&');
