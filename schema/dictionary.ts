import { is } from 'drizzle-orm';
import { SQLiteView } from 'drizzle-orm/sqlite-core';
import { isStaged } from './common-columns.ts';
import { type DescribedTable, definedIn, descriptionOf } from './table.ts';
import { MIRRORED_TABLES, STATE_TABLES } from './tables.ts';
import * as views from './views.ts';
import * as dailyViews from './views-daily.ts';
import * as testViews from './views-data-tests.ts';
import * as impactViews from './views-impact.ts';

export const MIRROR_VIEWS: readonly SQLiteView[] = [views, testViews, dailyViews, impactViews]
  .flatMap(definedIn)
  .filter((each) => is(each, SQLiteView));

/** Every table and view that people may read: staged rows are not mirrored yet (R16). */
export const DICTIONARY: readonly DescribedTable[] = [...MIRRORED_TABLES, ...STATE_TABLES, ...MIRROR_VIEWS]
  .map(descriptionOf)
  .filter((each) => !isStaged(each));
