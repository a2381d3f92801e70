import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import { instantOfMs } from '../core/time/instant.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { dbtTest, type TestRow } from './checks.ts';
import { type AssetRow, addNode, type ColumnRow, copyOf, type SampleAsset } from './estate.ts';
import { insertEstate, insertInto, type SampleScene } from './insert.ts';
import { randomOf } from './random.ts';
import { rewireColumns } from './rewire.ts';
import { badStatus, type RunRow, runOf } from './runs.ts';
import type { SampleOptions } from './sample.ts';
import { rescore } from './scores.ts';
import { NEWCOMERS, REVISED_NOTES } from './vocabulary.ts';

/** How many of what has changed. */
export type SampleChanges = ReturnType<typeof changeEnvironment>;

const SHARES = {
  hour: [
    { env: 'prod-analytics', edited: 6, added: 2, deleted: 1, columns: 8, rewired: 4, runs: 28 },
    { env: 'staging-analytics', edited: 2, added: 1, deleted: 1, columns: 4, rewired: 2, runs: 12 },
  ],
  moment: [
    { env: 'prod-analytics', edited: 2, added: 1, deleted: 1, columns: 1, rewired: 1, runs: 6 },
    { env: 'staging-analytics', edited: 1, added: 0, deleted: 0, columns: 1, rewired: 0, runs: 2 },
  ],
};

/** The time span of the changes. Those of moments keep the sample's size, however many there are. */
export type ChangeSpan = keyof typeof SHARES;

type ChangeShare = (typeof SHARES)[ChangeSpan][number];

const NUMBER_TYPES = ['NUMBER(38,2)', 'NUMBER(38,4)'] as const;

/** Applies the small changes of an hour or a moment to the sample's file, all dated now. */
export function changeSample(
  { connection }: MirrorFile,
  { seed, nowMs }: SampleOptions,
  span: ChangeSpan = 'hour',
): SampleChanges {
  return connection.transaction(() => {
    const parts = SHARES[span].map((share, i) => {
      const random = randomOf((seed * 31 + i) ^ Math.floor(nowMs / 1000));
      const estate = { env: share.env, random, nowMs, latestMs: nowMs, syncs: 1, nodes: [] };
      const scene = { ...estate, connection, insert: insertInto(connection), now: instantOfMs(nowMs) };
      return changeEnvironment(scene, share);
    });
    connection.prepare('update mirror_environments set mirrored_at = ?').run(instantOfMs(nowMs));
    return parts.reduce(sum);
  })();
}

function changeEnvironment(scene: SampleScene, share: ChangeShare) {
  const { connection, env, now } = scene;
  const deleted = deleteAssets(scene, share.deleted);
  const changes = {
    assetsEdited: editAssets(scene, share.edited),
    columnsChanged: changeColumns(scene, share.columns),
    columnsRewired: rewireColumns(scene, share.rewired),
    testRuns: runTests(scene, share.runs),
    ...addTables(scene, share.added),
    ...deleted,
  };
  connection.prepare('update environments set last_synced_at = ?, mirrored_at = ? where id = ?').run(now, now, env);
  return changes;
}

function editAssets({ connection, random, env, now }: SampleScene, count: number): number {
  const ids = connection
    .prepare("select id from assets where env_id = ? and deleted_at is null and kind in ('table', 'bi') order by id")
    .pluck()
    .all(env) as string[];
  const edit = connection.prepare(
    'update assets set description = ?, tags = ?, updated_at = ?, synced_at = ?, mirrored_at = ? where env_id = ? and id = ?',
  );
  const edited = random.some(ids, count);
  for (const id of edited) edit.run(random.pick(REVISED_NOTES), '["reviewed","core"]', now, now, now, env, id);
  return edited.length;
}

function changeColumns({ connection, random, env, now }: SampleScene, count: number): number {
  const rows = connection
    .prepare(
      'select id, data_type from columns where env_id = ? and deleted_at is null and data_type in (?, ?) order by id',
    )
    .all(env, ...NUMBER_TYPES) as { id: string; data_type: string }[];
  const change = connection.prepare(
    'update columns set data_type = ?, synced_at = ?, mirrored_at = ? where env_id = ? and id = ?',
  );
  const [narrow, wide] = NUMBER_TYPES;
  const changed = random.some(rows, count);
  for (const { id, data_type } of changed) change.run(data_type === narrow ? wide : narrow, now, now, env, id);
  return changed.length;
}

function addTables(scene: SampleScene, count: number) {
  const { connection, insert, random, env, nodes } = scene;
  const facts = connection
    .prepare(
      "select * from assets where env_id = ? and deleted_at is null and name like 'fct\\_%' escape '\\' order by id",
    )
    .all(env) as AssetRow[];
  for (const fact of random.some(facts, count)) addTable(scene, fact);
  const added = nodes.map((node) => ({
    ...dbtTest(scene, node, 'unique', node.columns[0]?.row.name as string),
    disabled: 0,
  }));
  insertEstate(insert, scene);
  insert(tests, added);
  return {
    assetsAdded: nodes.length,
    columnsAdded: nodes.reduce((total, node) => total + node.columns.length, 0),
    testsAdded: added.length,
  };
}

/** Adds a report over a fact table, with some of its columns. */
function addTable(scene: SampleScene, fact: AssetRow): void {
  const { connection, random, env } = scene;
  const rows = connection
    .prepare('select * from columns where env_id = ? and asset_id = ? and deleted_at is null order by rowid')
    .all(env, fact.id) as ColumnRow[];
  const source: SampleAsset = { asset: fact, columns: rows.map((row) => ({ row, from: [] })), from: [] };
  const taken = connection.prepare('select 1 from assets where env_id = ? and id = ?');
  const first = `${(fact.name as string).replace('fct_', 'rpt_')}_${random.pick(NEWCOMERS)}`;
  let name = first;
  for (let i = 2; taken.get(env, `model.jaffle_shop.${name}`) !== undefined; i += 1) name = `${first}_${i}`;
  const { kind, source_type, data_platform, db_name, schema_name, path } = fact;
  const plan = {
    ...{ kind, source_type, data_platform, db_name, schema_name, path },
    id: `model.jaffle_shop.${name}`,
    name,
    table_name: name,
    materialization: 'table',
    owners: JSON.parse(fact.owners ?? '[]'),
    tags: ['mart', 'new'],
  };
  addNode(scene, plan, [source], source.columns.slice(0, 6).map(copyOf));
}

/** Only the newest leaves are deleted, so the rest stays, however many changes there are. */
const NEWEST = 20;

function deleteAssets(scene: SampleScene, count: number) {
  const { connection, random, env } = scene;
  const ends = connection
    .prepare(`select id from assets a where env_id = ? and deleted_at is null and kind = 'table'
      and not exists (select 1 from asset_lineage l where l.env_id = a.env_id and l.upstream_asset_id = a.id)
      order by rowid desc limit ?`)
    .pluck()
    .all(env, NEWEST) as string[];
  const gone = random.some(ends, count).map((id) => deleteAsset(scene, id));
  return {
    assetsDeleted: gone.length,
    columnsDeleted: gone.reduce((total, { columns }) => total + columns, 0),
    testsDeleted: gone.reduce((total, of) => total + of.tests, 0),
  };
}

/** Deletes a leaf of the lineage and everything that belongs to it. Edges and results leave no tombstones. */
function deleteAsset({ connection, env, now }: SampleScene, id: string): { columns: number; tests: number } {
  const values = { env, id, now };
  const run = (sql: string) => connection.prepare(sql).run(values).changes;
  const bury = (table: string, by: string) =>
    run(`update ${table} set deleted_at = @now, deletion = 'tombstone', mirrored_at = @now
      where env_id = @env and ${by} = @id and deleted_at is null`);
  run(`delete from column_lineage where env_id = @env
    and downstream_column_id in (select c.id from columns c where c.env_id = @env and c.asset_id = @id)`);
  run('delete from asset_lineage where env_id = @env and (upstream_asset_id = @id or downstream_asset_id = @id)');
  run(`delete from latest_test_executions where env_id = @env
    and test_id in (select t.id from tests t where t.env_id = @env and t.asset_id = @id)`);
  run('delete from asset_health_scores where env_id = @env and asset_id = @id');
  run('delete from asset_health_score_dimensions where env_id = @env and asset_id = @id');
  bury('assets', 'id');
  return { columns: bury('columns', 'asset_id'), tests: bury('tests', 'asset_id') };
}

/** The chance that a run ends differently from the one before: failures are fixed sooner than new ones begin. */
const TURN = { toBad: 0.06, toPass: 0.4 };

/** How long ago the first of the new runs started. */
const RUN_STARTED_MS = 240_000;

/** New runs of enabled tests. Most end as before, some change their status. */
function runTests(scene: SampleScene, count: number): number {
  const { connection, insert, random, env, now, nowMs } = scene;
  const candidates = connection
    .prepare(`select t.*, l.sub_type, l.status, l.sub_test_unique_id from latest_test_executions l
      join tests t on t.env_id = l.env_id and t.id = l.test_id
      where l.env_id = ? and t.disabled = 0 and t.deleted_at is null and l.start_time < ? order by l.sub_test_unique_id`)
    .all(env, instantOfMs(nowMs - RUN_STARTED_MS)) as (TestRow &
    Pick<RunRow, 'sub_type' | 'status' | 'sub_test_unique_id'>)[];
  const due = random.some(candidates, count);
  const runs = due.map((test) => {
    const isPass = test.status === 'PASS';
    const turned = isPass ? badStatus(test) : 'PASS';
    const status = random.chance(isPass ? TURN.toBad : TURN.toPass) ? turned : test.status;
    return runOf(test, test.sub_type, status, {
      random,
      nowMs,
      startMs: nowMs - RUN_STARTED_MS + random.whole(60_000),
    });
  });
  const drop = connection.prepare('delete from latest_test_executions where env_id = ? and sub_test_unique_id = ?');
  for (const run of runs) drop.run(env, run.sub_test_unique_id);
  const stamped = runs.map((run) => ({ ...run, synced_at: now }));
  insert(latestTestExecutions, stamped);
  insert(testExecutions, stamped);
  rescore(scene, [...new Set(due.map((test) => test.asset_id as string))]);
  return runs.length;
}

function sum(one: SampleChanges, other: SampleChanges): SampleChanges {
  const names = Object.keys(one) as (keyof SampleChanges)[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as unknown as SampleChanges;
}
