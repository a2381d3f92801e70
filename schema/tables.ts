import { is } from 'drizzle-orm';
import { SQLiteTable } from 'drizzle-orm/sqlite-core';
import * as alerts from './alerts.ts';
import * as assets from './assets.ts';
import * as tests from './data-tests.ts';
import * as health from './health.ts';
import * as histories from './histories.ts';
import * as page from './page.ts';
import * as sync from './sync.ts';
import { definedIn } from './table.ts';

const tablesIn = (modules: readonly object[]): SQLiteTable[] =>
  modules.flatMap(definedIn).filter((each) => is(each, SQLiteTable));

/** The tables that mirror lists of the service, with their staged copies. */
export const MIRRORED_TABLES: readonly SQLiteTable[] = tablesIn([assets, tests, health]);

export const STATE_TABLES: readonly SQLiteTable[] = tablesIn([sync, histories, page, alerts]);
