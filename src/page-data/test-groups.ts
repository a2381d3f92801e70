import { type SQL, sql } from 'drizzle-orm';
import { SQLiteSyncDialect } from 'drizzle-orm/sqlite-core';
import { joinAsset, joinOwnersOfTest } from '../../schema/view-parts.ts';
import { SQLITE_VIEWS } from '../../schema/view-sqlite.ts';
import { type PageReads, type PageScope, seen, textOf, valuesIn } from './page-scope.ts';
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

/** The groups of tests by test id; null stands for "no group". */
export type GroupsOfTests = ReadonlyMap<string, readonly (string | null)[]>;

/** The groups of every test that the reader sees, deleted or not. */
export const groupsOfTests = (reads: PageReads, scope: PageScope, by: TestGrouping): GroupsOfTests =>
  cachedGroups(reads, scope, by);

const cachedGroups = cacheBySignature(
  8,
  (reads, env) => feedSignature(reads, env, ['tests', 'assets']),
  (reads, scope, by) => readGroups(reads, scope, by as TestGrouping),
);

function readGroups(reads: PageReads, scope: PageScope, by: TestGrouping): GroupsOfTests {
  const { name, join } = GROUPS[by];
  const text = new SQLiteSyncDialect().sqlToQuery(sql`SELECT DISTINCT x.test_id, ${name} AS name
    FROM (SELECT env_id, id AS test_id, asset_id, test_type, tags FROM tests) x ${join}
    WHERE ${sql.raw(seen(scope, { env: 'x.env_id', asset: 'x.asset_id' }))}`).sql;
  const groups = new Map<string, (string | null)[]>();
  for (const row of reads.rows({ sql: text, values: valuesIn(scope) })) {
    const names = groups.get(String(row['test_id']));
    if (names === undefined) groups.set(String(row['test_id']), [textOf(row['name'])]);
    else names.push(textOf(row['name']));
  }
  return groups;
}
