import { afterAll, describe, expect, test } from 'vitest';
import { emptyMirror } from '../pglite-conformance.ts';
import { pgliteDatabase } from '../pglite-mirror.ts';
import { knownFunctions, parsed, refusedOf } from './rules.ts';
import { distributedMirror } from './server.ts';
import { watched } from './watched.ts';

const mirror = await distributedMirror(true);
const known = await knownFunctions(mirror.server);
const database = pgliteDatabase(mirror.server, mirror.schema);
afterAll(mirror.close);

describe('the check of what Citus refuses', () => {
  const UPSERT = "insert into assets (env_id, id, mirrored_at) values ('e', 'a', $1) on conflict (env_id, id)";

  test.each([
    [`${UPSERT} do update set name = 'x' where assets.mirrored_at < now()`, 'ON CONFLICT calls now'],
    [`${UPSERT} do update set mirrored_at = assets.mirrored_at + interval '1 day'`, 'ON CONFLICT calls timestamptz_pl'],
    [`${UPSERT} do update set name = assets.mirrored_at::text`, 'ON CONFLICT calls timestamptz_out'],
    ["update assets set mirrored_at = mirrored_at + interval '1 day' where env_id = 'e'", 'timestamptz_pl_interval'],
    ["update assets set name = random()::text where env_id = 'e'", 'calls random, which is volatile'],
    ["update assets set mirrored_at = coalesce($1, now()) where env_id = 'e'", 'CASE or COALESCE calls now'],
    ["delete from assets where env_id = 'e' and mirrored_at < now() - interval '1 day' and name = 'x'", null],
    [
      `insert into marks (env_id, stream, id, number) select env_id, 's', id, $1 from assets where env_id = 'e'
        on conflict (env_id, stream, id) do update set number = excluded.number where marks.number <= $1`,
      'ON CONFLICT has a parameter',
    ],
    [
      `insert into marks (env_id, stream, id, number) values ('e', 's', 'i', $1)
        on conflict (env_id, stream, id) do update set number = $1`,
      null,
    ],
    ["select clock_timestamp() from assets where env_id = 'e'", 'clock_timestamp()'],
    [
      "merge into assets a using (values ('e')) v (env_id) on a.env_id = v.env_id when matched then do nothing",
      'a MERGE',
    ],
  ])('it finds what is refused in: %s', async (text, said) => {
    const tree = await database.transaction((inside) => parsed(inside, text));
    const refused = refusedOf(tree, known);
    if (said === null) expect(refused).toEqual([]);
    else expect(refused.join('; ')).toContain(said);
  });

  test.each([
    ["select 1 from assets where env_id = 'e'", { partitions: 1, needsOneEnvironment: false, isMixed: false }],
    ['select 1 from assets for update', { partitions: 4, needsOneEnvironment: true, isMixed: false }],
    [
      "select 1 from assets a where env_id = 'e' and (name = 'x' or exists (select 1 from tests t where t.env_id = a.env_id))",
      { partitions: 4, isMixed: false },
    ],
    ['with recursive n as (select 1 x union select x from n) select x from n', { needsOneEnvironment: true }],
    ["insert into marks (env_id, stream, id, number) values ('e', 's', 'i', 1)", { partitions: 1 }],
    ["select 1 from assets, sync_runs where env_id = 'e'", { partitions: 1, isMixed: true }],
  ])('it finds the partitions touched by: %s', async (text, seen) => {
    const observed = watched(mirror.server, known);
    await pgliteDatabase(observed.connection, mirror.schema).transaction((connection) => connection.query(text));
    expect(observed.statements.get(text)).toMatchObject(seen);
    await emptyMirror(mirror.server, mirror.schema);
  });
});
