import type { StorageLimits } from '../../core/decode/storage-limits.ts';
import { tableSqlOf } from '../sql/tables.ts';

/** No text has U+0000. An index entry holds 2,704 bytes, up to 100 of them headers, times and the stream's name. */
export const POSTGRES_LIMITS: StorageLimits = {
  maxEntryBytes: 2600,
  indexes: (table) => tableSqlOf(table).indexes,
};
