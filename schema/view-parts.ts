import { sql } from 'drizzle-orm';
import { integer, real, text } from 'drizzle-orm/sqlite-core';
import { envId } from './columns.ts';

/*
 * Views for people and BI tools. Three things hold for all of them:
 * - Deleted rows do not show, nor do scores, incidents and lineage of a deleted asset or test. A live column or test of a
 *   deleted asset shows without the asset's name. An id that names no row at all is no deletion: hence LEFT JOIN.
 * - They are SQL that SQLite 3.38 parses: an older reader does not open a file that holds a view it cannot parse. So no
 *   ORDER BY within aggregates, for one.
 * - A filter on `env_id` and on the id of the asset or test reaches the tables' keys.
 */

/** Columns of one type, in order. */
const each = <Name extends string, Builder>(names: Name[], column: () => Builder) =>
  Object.fromEntries(names.map((name) => [name, column()])) as Record<Name, Builder>;

export const texts = <Name extends string>(...names: Name[]) => each(names, () => text());
export const integers = <Name extends string>(...names: Name[]) => each(names, () => integer());
export const reals = <Name extends string>(...names: Name[]) => each(names, () => real());

/** How every view begins. */
export const environment = () => ({ env_id: envId(), env_name: text() });

/** The environment `v` of a row of `from`. */
export const joinEnvironment = (from: string) => sql.raw(`LEFT JOIN environments v ON v.id = ${from}.env_id`);

/** The asset `a` that a row of `from` names, whether it lives or not. */
export const joinAsset = (from: string) =>
  sql.raw(`LEFT JOIN assets a ON a.env_id = ${from}.env_id AND a.id = ${from}.asset_id`);

/** The same, where the row has a life of its own: a deleted asset only leaves the row without its name. */
export const joinLiveAsset = (from: string) => sql`${joinAsset(from)} AND a.deleted_at IS NULL`;

/** The elements `e` of a JSON array; none when it is NULL, no array or no JSON. */
export const elements = (list: string) =>
  sql.raw(`json_each(CASE WHEN json_valid(${list}) THEN CASE json_type(${list}) WHEN 'array' THEN ${list} END END) e`);

/** What to call an element `e`: an object by its name, else email, else id, else as it stands; NULL where it is empty. */
export const label = sql.raw(`NULLIF(CASE e.type
    WHEN 'object' THEN CAST(COALESCE(NULLIF(json_extract(e.value, '$.name'), ''),
      NULLIF(json_extract(e.value, '$.email'), ''), NULLIF(json_extract(e.value, '$.id'), ''), e.value) AS TEXT)
    WHEN 'true' THEN 'true'
    WHEN 'false' THEN 'false'
    ELSE CAST(e.value AS TEXT)
  END, '')`);

/** A JSON array as text for people: its labels, separated by commas. */
export const listed = (list: string) => sql`(SELECT group_concat(${label}, ', ') FROM ${elements(list)})`;

/** Kinds this version knows; any other is `other` (R19). */
export const kind = (asset: string) =>
  sql.raw(`CASE WHEN ${asset}.kind IN ('table', 'bi', 'semantic', 'etl') THEN ${asset}.kind ELSE 'other' END`);

/** The live assets `a`; a kind is asked for with AND. */
export const fromLiveAssets = sql`FROM assets a ${joinEnvironment('a')} WHERE a.deleted_at IS NULL`;
