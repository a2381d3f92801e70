import type { StorageLimits } from '../../core/decode/storage-limits.ts';
import type { SqlDialect } from '../sql/statements.ts';
import { list, nameOf, quote, tableSqlOf } from '../sql/tables.ts';

/**
 * Escapes in JSON text that PostgreSQL cannot parse: U+0000 and lone surrogates, which `JSON.stringify` always escapes.
 * An even number of backslashes before one is literal.
 */
const UNREADABLE = String.raw`(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})`;

export const POSTGRES: SqlDialect = {
  texts: (json) => `json_array_elements_text(${json}::json)`,
  arrays: (json) => `json_array_elements(${json}::json)`,
  field: (json, name) => `regexp_replace(${json}, '${UNREADABLE}', '\\1\\\\ufffd', 'g')::json ->> '${name}'`,
  day: (time) => `cast(${time} at time zone 'UTC' as date)`,
  lastStaged: ({ key }, staged, condition) =>
    `select distinct on (${list(key, 'g.')}) g.* from ${nameOf(staged)} g
      where ${condition} order by ${list(key, 'g.')}, g.row_number desc`,
  // The type json has no operators. The texts are compared first, because few differ.
  jsonDiffers: (one, other) =>
    `(${one}::text is distinct from ${other}::text and same_json(${one}::text, ${other}::text) is not true)`,
  // The key of a rejected row may be a whole payload, which no index can hold (R20).
  unique: (table, column) =>
    table === 'rejected_rows' && column === 'row_key' ? `md5(${quote(column)})` : quote(column),
};

/** No text has U+0000. An index entry holds 2,704 bytes, up to 100 of them headers, times and the stream's name. */
export const POSTGRES_LIMITS: StorageLimits = {
  maxEntryBytes: 2600,
  indexes: (table) => tableSqlOf(table).indexes,
};
