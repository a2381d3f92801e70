import type Database from 'better-sqlite3';
import type { Estate } from './estate.ts';
import type { Insert } from './insert.ts';

/** One environment while it is changed: a row changed now was synced now. */
export interface Scene {
  readonly connection: Database.Database;
  readonly insert: Insert;
  readonly estate: Estate;
  readonly env: string;
  readonly now: string;
}
