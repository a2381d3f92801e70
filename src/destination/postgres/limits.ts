import type { StorageLimits } from '../../core/decode/storage-limits.ts';
import { tableSqlOf } from '../sql/tables.ts';

/**
 * PostgreSQL stores no U+0000 in a text. An entry of an index has room for 2,704 bytes, of which up to a hundred are
 * needed for headers, times and the name of the stream.
 */
export const POSTGRES_LIMITS: StorageLimits = {
  maxEntryBytes: 2600,
  indexes: (table) => tableSqlOf(table).indexes,
};
