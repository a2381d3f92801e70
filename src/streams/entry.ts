import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Stream } from '../core/stream.ts';

/** A catalogue entry over the mirror's drizzle tables. */
export type Entry = Stream<SQLiteTable>;

/** Enabled rows and disabled ones are listed apart: a full read takes both. */
export const ENABLED_AND_DISABLED = [{}, { disabled: 'true' }] as const;

export const ONE_READ = [{}] as const;
