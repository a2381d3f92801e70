import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Stream } from '../core/stream.ts';

/** A catalogue entry whose tables are drizzle tables of the mirror. */
export type Entry = Stream<SQLiteTable>;

/** The service lists enabled and disabled rows separately. A full read needs both lists. */
export const ENABLED_AND_DISABLED = [{}, { disabled: 'true' }] as const;

export const ONE_READ = [{}] as const;
