import type Database from 'better-sqlite3';
import type { SampleEstate } from './estate.ts';
import type { InsertRows } from './insert.ts';

/** An environment that is being changed. Rows that change now were synced now. */
export interface SampleScene {
  readonly connection: Database.Database;
  readonly insert: InsertRows;
  readonly estate: SampleEstate;
  readonly env: string;
  readonly now: string;
}
