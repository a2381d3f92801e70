import { type SQL, sql } from 'drizzle-orm';
import { SQLiteSyncDialect } from 'drizzle-orm/sqlite-core';
import { joinAsset, joinOwnersOfTest } from '../../schema/view-parts.ts';
import { SQLITE_VIEWS } from '../../schema/view-sqlite.ts';
import { type PageScope, seen, selectRows } from './page-scope.ts';
import { cacheBySignature, feedSignature } from './signature-cache.ts';

export const TEST_GROUPINGS = ['owner', 'schema', 'test_type', 'tag'] as const;

export type TestGrouping = (typeof TEST_GROUPINGS)[number];

/** SQL of the name of a group that test `x` is in, deleted or not. It matches the daily views. */
const GROUPS: Readonly<Record<TestGrouping, { readonly name: SQL; readonly join: SQL }>> = {
  owner: { name: sql`o.owner`, join: joinOwnersOfTest(SQLITE_VIEWS, 'x') },
  schema: {
    name: sql`CASE WHEN a.db_name IS NULL THEN a.schema_name ELSE a.db_name || COALESCE('.' || a.schema_name, '') END`,
    join: joinAsset('x'),
  },
  test_type: { name: sql`x.test_type`, join: sql`` },
  tag: { name: SQLITE_VIEWS.label, join: sql`LEFT ${SQLITE_VIEWS.joinElements('x.tags')}` },
};

/** The groups by id of every test that the reader sees, deleted or not; null stands for "no group". */
export const groupsOfTests = cacheBySignature(8, feedSignature('tests', 'assets'), readGroups);

function readGroups(scope: PageScope, by: TestGrouping): ReadonlyMap<string, readonly (string | null)[]> {
  const { name, join } = GROUPS[by];
  const text = new SQLiteSyncDialect().sqlToQuery(sql`SELECT DISTINCT x.test_id, ${name} AS name
    FROM (SELECT env_id, id AS test_id, asset_id, test_type, tags FROM tests) x ${join}
    WHERE ${sql.raw(seen(scope, 'x.asset_id', 'x.env_id'))}`).sql;
  const rows = selectRows<{ test_id: string; name: string | null }>(scope, text);
  const groups = Map.groupBy(rows, ({ test_id }) => test_id);
  return new Map([...groups].map(([test, own]) => [test, own.map((row) => row.name)]));
}
