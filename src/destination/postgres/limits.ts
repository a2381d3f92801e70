import type { StorageLimits } from '../../core/decode/storage-limits.ts';
import { tableSqlOf } from '../sql/tables.ts';

/**
 * PostgreSQL stores no U+0000 in text. An index entry has room for 2,704 bytes, up to a hundred of which are needed for
 * headers, times and the stream's name.
 */
export const POSTGRES_LIMITS: StorageLimits = {
  maxEntryBytes: 2600,
  indexes: (table) => tableSqlOf(table).indexes,
};
