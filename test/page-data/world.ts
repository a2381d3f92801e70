import { assetLineage, assets, columnLineage, columns, environments } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import { assetHealthScoreDimensions, assetHealthScoreHistory, assetHealthScores } from '../../schema/health.ts';
import { testExecutionGaps } from '../../schema/histories.ts';
import {
  heldRemovals,
  mirrorEnvironments,
  rejectedRows,
  syncCheckpoints,
  syncRuns,
  syncStreamRuns,
} from '../../schema/sync.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { asset, assetEdge, column, columnEdge, insert, NOW, run, test_ } from '../server/fixture.ts';

/*
 * In environment `e`, the lineage interleaves the assets of a team (`m…`, under `team`) with those of others (`o…`),
 * and both share owners, tags and schemas. Environment `f` has only assets of others. Almost every test fails.
 */

const GONE = { deleted_at: '2026-11-10T00:00:00.000000Z', deletion: 'tombstone' } as const;
const BI = { kind: 'bi', bi_platform: 'looker', bi_type: 'dashboard' } as const;

export const TEAM = ['m1', 'm2', 'm3', 'm4', 'm5', 'mdash', 'mgone'];
const OTHERS = ['o1', 'o2', 'o3', 'o4', 'odash', 'team-x'];

const kindOf = (id: string) => (id.endsWith('dash') ? BI : {});

/** No mirrored asset has this id, but edges refer to it. */
export const UNKNOWN = 'never-mirrored';

const EDGES = [
  ['o1', 'm1'],
  ['m1', 'o2'],
  ['o2', 'm2'],
  ['m1', 'm3'],
  ['m3', 'm4'],
  ['o1', 'm4'],
  ['m4', 'mdash'],
  ['m4', 'odash'],
  ['o3', 'odash'],
  ['m4', 'm1'],
  ['m2', UNKNOWN],
  [UNKNOWN, 'm5'],
  ['m2', 'mgone'],
  ['mgone', 'm5'],
  ['o4', 'o4'],
] as const;

/**
 * A day of November and a test's runs: each is `name:days…`, with a letter per day from the 10th on, `.` for no run.
 */
const RUNS: Readonly<Record<string, string>> = {
  m1: 'PPFFPPPFFF',
  m2: 'FFFFFFFFFF',
  m3: 'PWPWP.PSPE',
  m4: 'PPPPPPPPPP',
  m5: 'FPFPFPFPNF',
  mdash: 'PPPPPPPPPW',
  mgone: 'PFPFPFPFPF',
  o1: 'FFFFPPPPPF',
  o2: 'PPPPPPPPPE',
  o3: 'FPFPFPFPFF',
  o4: 'PPPPPPPPPP',
  odash: 'PPPPPPPPFF',
  'team-x': 'FFPPFFPPFF',
};

const STATUSES: Readonly<Record<string, string>> = {
  P: 'PASS',
  F: 'FAIL',
  W: 'WARN',
  E: 'ERROR',
  S: 'SKIPPED',
  N: 'ODD',
};

export function fillWorld({ db, connection }: MirrorFile): void {
  const all = [...TEAM, ...OTHERS];
  insert(db, environments, { id: 'f', name: 'Another', mirrored_at: NOW });
  insert(db, mirrorEnvironments, { env_id: 'f', mirrored_at: '2026-11-20T12:30:00.000000Z' });
  for (const [i, id] of all.entries()) {
    const place = {
      path: TEAM.includes(id) ? `team/${id}` : `${id}/team`,
      db_name: 'db',
      schema_name: `schema ${i % 2}`,
      owners: JSON.stringify([`owner ${i % 3}`, { name: 'Everybody' }]),
      tags: JSON.stringify(['tag', `tag of ${id}`]),
      ...kindOf(id),
    };
    insert(db, assets, asset(id, { ...place, ...(id === 'mgone' ? GONE : {}) }));
    insert(db, assets, asset(id, { ...place, env_id: 'f', name: `f ${id}` }));
    fillAsset(db, id, i);
  }
  insert(db, assetLineage, ...EDGES.map(([up, down]) => assetEdge(up, down)));
  const known = EDGES.filter((ends) => !ends.some((end) => [UNKNOWN, 'mgone'].includes(end)));
  insert(db, columnLineage, ...known.map(([up, down]) => columnEdge(`${up}:id`, `${down}:id`)));
  fillLog(db);
  fillMeans(connection);
}

/** As if a sync had ended on each day that has scores. */
function fillMeans(connection: MirrorFile['connection']): void {
  connection.exec(`delete from asset_health_means;
    insert into asset_health_means (env_id, day, dimension, score, asset_count, scores_at)
    select env_id, day, dimension, avg(score), count(*), '' from health_daily group by env_id, day, dimension`);
}

/** These have columns and scores but no test. */
const UNTESTED = ['m5', 'o4'];

function fillAsset(db: MirrorFile['db'], id: string, i: number): void {
  const gone = id === 'mgone' ? GONE : {};
  for (const name of ['id', 'NAME', 'unseen'])
    insert(db, columns, column(`${id}:${name}`, { asset_id: id, name, data_type: 'text', ...gone }));
  if (!UNTESTED.includes(id)) {
    fillTests(db, id, i);
    fillRuns(db, id, i);
  }
  fillScores(db, id, i);
}

function fillTests(db: MirrorFile['db'], id: string, i: number): void {
  const owned = i % 4 === 0 ? {} : { owners: JSON.stringify([`owner ${i % 3}`]) };
  const more = { asset_id: id, column_name: 'name', test_type: `type ${i % 2}`, tags: '["nightly"]', ...owned };
  insert(db, tests, [
    test_(`${id}:test`, {
      ...more,
      severity: i % 2 === 0 ? 'ERROR' : 'WARNING',
      ...(id === 'mgone' ? GONE : {}),
    }),
    test_(`${id}:off`, { ...more, disabled: 1 }),
    test_(`${id}:went`, { ...more, ...GONE }),
  ]);
}

function fillRuns(db: MirrorFile['db'], id: string, i: number): void {
  const executions = ['test', 'off', 'went'].flatMap((test) =>
    [...(RUNS[id] ?? '')].map((letter, day) => ({
      ...run(`${id}:${test}:${day}`, {
        test_id: `${id}:${test}`,
        sub_test_unique_id: `${id}:${test}:sub`,
        status: STATUSES[letter] ?? '',
        start_time: `2026-11-${10 + day}T0${i % 10}:00:00.000000Z`,
      }),
      ...{ result_reason: `of ${id}`, exception: id, column_name: 'NAME' },
    })),
  );
  const seen = executions.filter(({ status }) => status !== '');
  insert(db, testExecutions, seen);
  insert(db, latestTestExecutions, ...seen.filter((each) => each.id.endsWith(':9')));
}

function fillScores(db: MirrorFile['db'], id: string, i: number): void {
  const hours = ['2026-11-18T23:00:00.000000Z', '2026-11-19T09:00:00.000000Z', '2026-11-19T10:00:00.000000Z'];
  const scores = hours.map((bucket_at, hour) => ({
    ...{ env_id: 'e', mirrored_at: NOW, asset_id: id, test_count: 1 },
    ...{ bucket_at, score: 1 / (i + hour + 1) },
  }));
  for (const dimension of ['total', 'accuracy'])
    insert(db, assetHealthScoreHistory, ...scores.map((each) => ({ ...each, dimension })));
  const last = scores.slice(-1);
  insert(db, assetHealthScores, last);
  insert(db, assetHealthScoreDimensions, ...last.map((each) => ({ ...each, dimension: 'accuracy' })));
}

/** Two runs: one of `e`, where a stream had problems, then one of `f`. */
function fillLog(db: MirrorFile['db']): void {
  const times = { started_at: '2026-11-20T11:00:00.000000Z', ended_at: '2026-11-20T11:01:00.000000Z' };
  const server_time = '2026-11-20T11:00:00.000000Z';
  insert(db, syncRuns, [
    { ...times, id: 1, cycle_id: 1, status: 'problems', server_time, requests: 40, error: 'columns of o1 failed' },
    { ...times, id: 2, cycle_id: 2, status: 'problems', server_time, requests: 2, error: 'f: away' },
  ]);
  const counts = { requests: 3, pages: 2, rows_written: 7, rows_deleted: 0, rows_rejected: 1, rows_late: 0, ...times };
  const stream = (run_id: number, env_id: string, name: string, error: string | null) => ({
    ...counts,
    ...{ run_id, env_id, stream: name, mode: 'scan', reason: 'returned', error },
    status: error === null ? ('done' as const) : ('failed' as const),
  });
  insert(db, syncStreamRuns, [
    stream(1, 'e', 'assets', null),
    stream(1, 'e', 'columns', 'columns of o1 failed'),
    stream(2, 'f', 'assets', 'f: away'),
  ]);
  for (const env_id of ['e', 'f']) {
    insert(db, syncCheckpoints, { env_id, stream: 'assets', watermark: '2026-11-20T11:00:00.000000Z', unavailable: 0 });
    insert(db, heldRemovals, { env_id, stream: 'columns', key_1: 'o1:id', key_2: '', absent_at: NOW });
    insert(db, rejectedRows, {
      run_id: 1,
      env_id,
      stream: 'columns',
      row_key: 'o1',
      reason: 'o1',
      payload: '{}',
      seen_at: NOW,
    });
    insert(db, testExecutionGaps, { env_id, test_id: 'o1:test', gap_from: NOW, gap_to: NOW });
  }
}

/** Deletes everything that is hidden from a reader of the given assets of `e`. */
export function keepOnly({ connection }: MirrorFile, seen: readonly string[]): void {
  const ids = JSON.stringify(seen);
  const hidden = (column: string) => `coalesce(${column}, '') not in (select value from json_each(@ids))`;
  const run_ = (sql: string) => connection.prepare(sql).run(sql.includes('@ids') ? { ids } : {});
  run_(`delete from assets where ${hidden('id')}`);
  for (const table of ['columns', 'tests', 'asset_health_scores', 'asset_health_score_dimensions'])
    run_(`delete from ${table} where ${hidden('asset_id')}`);
  run_(`delete from asset_health_score_history where ${hidden('asset_id')}`);
  run_(`delete from asset_lineage where ${hidden('upstream_asset_id')} or ${hidden('downstream_asset_id')}`);
  for (const table of ['latest_test_executions', 'test_executions'])
    run_(`delete from ${table} where test_id not in (select id from tests)`);
  run_(`delete from column_lineage where upstream_column_id not in (select id from columns)
    or downstream_column_id not in (select id from columns)`);
  keepEnvironment(connection);
  fillMeans(connection);
}

function keepEnvironment(connection: MirrorFile['connection']): void {
  const tables = connection
    .prepare(
      `select m.name from sqlite_schema m join pragma_table_info(m.name) c on c.name = 'env_id' where m.type = 'table'`,
    )
    .pluck()
    .all();
  for (const table of tables) connection.prepare(`delete from ${table} where env_id <> 'e'`).run();
  connection.prepare(`delete from environments where id <> 'e'`).run();
  connection.prepare('delete from sync_runs where id = 2').run();
}

/** Deletes all environments except `e`. */
export const keepOnlyEnvironment = ({ connection }: MirrorFile): void => keepEnvironment(connection);
