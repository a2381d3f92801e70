import { beforeEach, describe, expect, test } from 'vitest';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import { decodePage } from '../../src/core/decode/decode.ts';
import type { Destination, RoundEnd } from '../../src/core/ports/destination.ts';
import type { StreamName } from '../../src/core/stream.ts';
import { LAST_INSTANT } from '../../src/core/time/instant.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { entryNamed } from '../support/catalogue.ts';
import { type CommitParts, commitOf, PLAIN_ROUND_END } from '../support/commit-parts.ts';
import { column, edge, START } from '../support/conformance/workbench.ts';
import { claimedMirror } from './setup.ts';

let mirror: MirrorFile;
let prepared: string[];
let prepare: (sql: string) => ReturnType<MirrorFile['prepare']>;
beforeEach(() => {
  mirror = claimedMirror();
  prepare = mirror.connection.prepare.bind(mirror.connection);
  prepared = [];
  Object.assign(mirror.connection, {
    prepare(sql: string) {
      prepared.push(sql);
      return prepare(sql);
    },
  });
});

const OWED = { after: ' ', lastMark: 1, run: 2, mode: 'marked', settledBefore: LAST_INSTANT } as const;

const on = (envId = 'e'): Destination => createSqliteDestination(mirror, { envId, run: 1, clock: () => START });
const commit = (name: StreamName, given: CommitParts, envId = 'e') =>
  on(envId).commit(entryNamed(name), commitOf(NO_PROGRESS, given), new Set());

/** SQLite's query plans for the statements of `act`, with a line per table that is read. */
async function plansOf(act: () => Promise<unknown>): Promise<string[]> {
  prepared = [];
  await act();
  return prepared.filter((sql) => sql.includes('@env')).flatMap(planOf);
}

function planOf(sql: string): string[] {
  const values = Object.fromEntries([...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, null]));
  const steps = prepare(`explain query plan ${sql}`).all(values) as { detail: string }[];
  return steps.map((step) => step.detail);
}

/** Writes many rows. With `counted`, SQLite also has statistics for them. */
function fill(counted: boolean): void {
  mirror.connection.exec(`
    with recursive n(i) as (select 0 union all select i + 1 from n where i < 4999)
    insert into assets (env_id, id, kind, mirrored_at) select 'e', 'a' || i, iif(i % 2, 'table', 'bi'), '' from n;
    with recursive n(i) as (select 0 union all select i + 1 from n where i < 4999)
    insert into columns (env_id, id, asset_id, name, mirrored_at) select 'e', 'c' || i, 'a' || (i / 10), 'n', '' from n;
    insert into column_lineage (env_id, downstream_column_id, upstream_column_id, mirrored_at)
      select 'e', id, 'up', '' from columns`);
  if (counted) mirror.connection.exec('analyze');
}

describe.each([
  ['without statistics', false],
  ['with statistics', true],
])('query plans %s', (_, counted) => {
  test('the end of a round of marked lineage reads only edges of marked columns, live or staged (R18)', async () => {
    fill(counted);
    const roundEnd: RoundEnd = { ...PLAIN_ROUND_END, replace: 'marked', lastMark: 1, isWhole: false };
    const plans = await plansOf(async () => {
      await commit('column_lineage', { kind: 'round-end', roundEnd: { ...roundEnd, isHeld: () => true } });
    });
    const edges = plans.filter((step) => /^\w+ t .*column_lineage/.test(step));
    expect(edges.length).toBeGreaterThan(5);
    expect(edges.filter((step) => !step.includes('(env_id=? AND downstream_column_id=?'))).toEqual([]);
    // Only `s`, the written rows, is scanned, and sources that are not tables.
    const scans = plans.filter((step) => step.startsWith('SCAN') && step !== 'SCAN CONSTANT ROW');
    expect(scans.filter((step) => step !== 'SCAN s')).toEqual([]);
    expect(plans.filter((step) => /_staged_by_env/.test(step)).length).toBeGreaterThan(1);
  });

  test.each(CATALOGUE.filter(({ staged }) => staged !== undefined).map(({ name }) => name))(
    'the end of a round of %s reads only the staged rows of its environment (R16)',
    async (name) => {
      fill(counted);
      mirror.connection.exec(`insert into staged_loaded values ('e', '${name}')`);
      const roundEnd: RoundEnd = { ...PLAIN_ROUND_END, replace: 'all', lastMark: 1, isWhole: true };
      const plans = await plansOf(async () => {
        await commit(name, { kind: 'round-end', roundEnd: { ...roundEnd, isHeld: () => true } });
      });
      const staged = plans.filter((step) => /^(SCAN|SEARCH) [gwx] /.test(`${step} `) && !step.includes('temp'));
      expect(staged.filter((step) => step.includes(`${name}_staged_by_env (env_id=?)`)).length).toBeGreaterThan(1);
      expect(staged.filter((step) => step.startsWith('SCAN'))).toEqual([]);
    },
  );

  test('the rows of marked parents are found by the index on their parent (R13)', async () => {
    fill(counted);
    const plans = await plansOf(() =>
      commit('columns', { sweptRows: { by: 'asset_id', ids: ['a1'], sinceRead: 1, at: START, isConfirmed: true } }),
    );
    expect(plans.filter((step) => / t /.test(step))).toEqual([
      'SEARCH t USING INDEX columns_by_asset (env_id=? AND asset_id=?)',
    ]);
  });

  test('due tests are found in key order, with one lookup per test in each table (R22)', async () => {
    fill(counted);
    const plans = await plansOf(() => on().dueTests({ limit: 9, run: 1, fresh: null }));
    expect(plans.filter((step) => / [trfl] /.test(step)).sort()).toEqual([
      'SEARCH f USING INDEX sqlite_autoindex_history_failures_1 (env_id=? AND test_id=?) LEFT-JOIN',
      'SEARCH l USING INDEX latest_test_executions_by_test (env_id=? AND test_id=?)',
      'SEARCH r USING INDEX sqlite_autoindex_test_readings_1 (env_id=? AND test_id=?) LEFT-JOIN',
      'SEARCH t USING INDEX sqlite_autoindex_tests_1 (env_id=? AND id>?)',
    ]);
    expect(plans.filter((step) => /^SCAN (?!d$|mirror$)/.test(step))).toEqual([]);
  });

  test('marked rows are found by id, whatever their kind (R22)', async () => {
    fill(counted);
    const plans = await plansOf(() =>
      on().backlog(entryNamed('table_assets'), { ...OWED, about: 'marked', before: START }),
    );
    expect(new Set(plans.filter((step) => / t /.test(step)))).toEqual(
      new Set(['SEARCH t USING INDEX sqlite_autoindex_assets_1 (env_id=? AND id=?)']),
    );
  });

  test.each([
    ['assets', 'deleted_at is null', 'assets_live'],
    ['assets', 'deleted_at is not null', 'assets_gone'],
    ['assets', "kind = 'bi' and deleted_at is null", 'assets_live_by_kind'],
    ['columns', 'deleted_at is null', 'columns_live'],
    ['columns', 'deleted_at is not null', 'columns_gone'],
    ['tests', 'deleted_at is null', 'tests_live'],
    ['tests', 'deleted_at is not null', 'tests_gone'],
  ])(
    'a reader of changes to %s where %s reads nothing else, in order, without sorting (R21)',
    (table, which, index) => {
      fill(counted);
      const plan = planOf(`select * from ${table} where env_id = @env and ${which} and mirrored_at >= @since
      order by mirrored_at, id limit 2000`);
      expect(plan).toEqual([
        expect.stringMatching(new RegExp(`^SEARCH ${table} USING INDEX ${index} \\(env_id=\\? .*mirrored_at>\\?\\)$`)),
      ]);
    },
  );

  test.each([
    ['assets', "kind = 'bi'", 'id', 'assets_by_kind'],
    ['tests', 'disabled = 1', 'id', 'tests_disabled'],
    [
      'latest_test_executions',
      "synced_at > ''",
      'synced_at, sub_test_unique_id',
      'latest_test_executions_by_synced_at',
    ],
  ])('a page of %s where %s, ordered by %s, needs no sorting', (table, which, order, index) => {
    fill(counted);
    const plan = planOf(`select * from ${table} where env_id = @env and ${which} order by ${order} limit 2000`);
    expect(plan).toEqual([expect.stringMatching(new RegExp(`^SEARCH ${table} USING INDEX ${index} \\(env_id=\\?`))]);
  });

  test('reading the facts of a stream counts no rows, except the tests whose histories may be due by age', async () => {
    fill(counted);
    await plansOf(async () => {
      for (const { name, method } of CATALOGUE)
        if (method !== 'window') await on().facts(entryNamed(name), { since: null, settledBefore: LAST_INSTANT });
    });
    expect(prepared.filter((sql) => sql.includes('count('))).toEqual([]);
  });
});

describe('prepared statements', () => {
  const own = () => prepared.filter((sql) => !/"(mirror_environments|sync_checkpoints)"/.test(sql));

  test('they are shared by all environments', async () => {
    const sync = async (envId: string): Promise<void> => {
      const page = decodePage(entryNamed('column_lineage'), [edge('c', 'd')]);
      await on(envId).facts(entryNamed('column_lineage'), { since: null, settledBefore: LAST_INSTANT });
      await commit('column_lineage', { staged: { rows: page.rows, readNumber: 1 }, returnedKeys: [['c', 'd']] }, envId);
      const roundEnd = { ...PLAIN_ROUND_END, replace: 'all', lastMark: 1, isWhole: true, isHeld: () => false } as const;
      await commit('column_lineage', { kind: 'round-end', roundEnd }, envId);
      await on(envId).outstanding(entryNamed('column_lineage'));
    };
    await sync('e');
    expect(own().length).toBeGreaterThan(10);
    prepared = [];
    await sync('f');
    expect(own()).toEqual([]);
  });

  test('seven statements write pages of any length to a table', async () => {
    for (let count = 1; count <= 130; count += 1) {
      const items = Array.from({ length: count }, (_, i) => column(`c${i}`));
      const changes = decodePage(entryNamed('columns'), items).rows.map(({ row }) => ({
        row,
        kind: 'updated' as const,
      }));
      expect((await commit('columns', { changes })).counts.written).toBe(count);
    }
    expect(own().filter((sql) => sql.startsWith('insert into "columns"'))).toHaveLength(7);
    expect(mirror.connection.prepare('select count(*) from columns').pluck().get()).toBe(130);
  });
});
