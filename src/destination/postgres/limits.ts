import type { StorageLimits } from '../../core/storage-limits.ts';
import { tableSqlOf } from '../sql/tables.ts';

/**
 * PostgreSQL stores no U+0000 in a text. An entry of an index has room for 2,704 bytes: five texts of the longest key, that of
 * `seen_keys` with its environment and stream.
 */
export const POSTGRES_LIMITS: StorageLimits = {
  maxKeyBytes: 500,
  indexed: (table) => tableSqlOf(table).indexed,
};
