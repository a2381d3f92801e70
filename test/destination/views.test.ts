import type { Column } from 'drizzle-orm';
import { getViewConfig } from 'drizzle-orm/sqlite-core';
import { describe, expect, test } from 'vitest';
import { MIRROR_VIEWS } from '../../schema/dictionary.ts';
import {
  add,
  addCheckpoint,
  addRuns,
  columnsOf,
  gone,
  pluck,
  type Row,
  run,
  select,
  useMirror,
} from './views-setup.ts';

const names = MIRROR_VIEWS.map((view) => getViewConfig(view).name);

/** The views that include executions of deleted tests. */
const DAILY = names.filter((name) => name.startsWith('test_runs_daily')).sort();

useMirror();

describe('every view', () => {
  test('it is in the migrations, with its declared columns in order', () => {
    const made = Object.fromEntries(
      pluck(`SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name`).map((name) => [
        name,
        pluck('SELECT name FROM pragma_table_info(?) ORDER BY cid', name),
      ]),
    );
    const named = MIRROR_VIEWS.map((view) => getViewConfig(view)).map((it) => [
      it.name,
      Object.keys(it.selectedFields),
    ]);
    expect(made).toEqual(Object.fromEntries(named));
    expect(Object.keys(made)).toHaveLength(27);
  });

  test('it begins with the id and name of the environment; the name is NULL if the environment is unknown', () => {
    addEverything('e', {});
    addEverything('unlisted', {});
    for (const view of names) {
      const seen = select(`SELECT DISTINCT env_id, env_name FROM ${view} ORDER BY env_id`);
      const want = [
        { env_id: 'e', env_name: 'Production' },
        { env_id: 'unlisted', env_name: null },
      ];
      expect(seen, view).toEqual(want);
    }
  });

  test('it shows nothing of deleted assets and tests, except the daily runs and how far the environment was read', () => {
    addEverything('e', gone);
    const full = MIRROR_VIEWS.map((it) => getViewConfig(it).name).filter(
      (view) => select(`SELECT * FROM ${view}`).length > 0,
    );
    expect(full.sort()).toEqual(['environment_freshness', ...DAILY]);
  });

  test('it shows rows of an unknown asset or test if it needs none of its fields', () => {
    addEverything('e', {});
    for (const table of ['assets', 'columns', 'tests']) run(`DELETE FROM ${table}`);
    const full = MIRROR_VIEWS.map((it) => getViewConfig(it).name).filter(
      (view) => select(`SELECT * FROM ${view}`).length > 0,
    );
    expect(full.sort()).toEqual([
      'asset_health',
      'environment_freshness',
      'health_daily',
      'lineage_downstream',
      'lineage_upstream',
      'test_incidents',
      'test_incidents_by_owner',
      ...DAILY,
    ]);
  });

  test.each(MIRROR_VIEWS.map((view) => [getViewConfig(view).name, getViewConfig(view).selectedFields] as const))(
    'the columns of %s have their declared types in SQLite’s catalogue, and values of those types',
    (view, fields) => {
      addEverything('e', {});
      const found = select('SELECT name, type FROM pragma_table_xinfo(?)', view);
      const types = found.map(({ name, type }) => [name, String(type).replace(/^INT$/, 'INTEGER')]);
      const wanted = Object.entries(fields).map(([name, field]) => [
        name,
        (field as Column).getSQLType().toUpperCase(),
      ]);
      expect(types).toEqual(wanted);
      for (const [name, type] of wanted) {
        const stored = pluck(`SELECT DISTINCT typeof(${name}) FROM ${view}`);
        expect([String(type).toLowerCase(), 'null'], `${name}`).toEqual(expect.arrayContaining(stored));
      }
    },
  );

  test('the types of a query result agree with the catalogue', () => {
    for (const view of names) {
      const catalogue = select('SELECT name, type FROM pragma_table_xinfo(?)', view);
      const typed = columnsOf(`SELECT * FROM ${view}`).filter(({ type }) => type !== null);
      expect(catalogue, view).toEqual(expect.arrayContaining(typed));
    }
  });

  function addEverything(env_id: string, deletion: Row): void {
    const lists = { owners: '["ann"]', tags: '["gold"]' };
    const score = { env_id, asset_id: 'a', score: 0.5, test_count: 2, bucket_at: '2026-11-20T00:00:00.000000Z' };
    const updated_at = '2026-09-01T00:00:00.000000Z';
    addCheckpoint('assets', '2026-11-20T00:00:00.000000Z', { env_id });
    add('assets', { env_id, id: 'a', kind: 'table', updated_at, ...lists, ...deletion });
    add('assets', { env_id, id: 'b', kind: 'bi', ...lists, ...deletion });
    add('columns', { env_id, id: 'c', asset_id: 'a', ...deletion });
    add('tests', { env_id, id: 't', disabled: 0, asset_id: 'a', ...lists, ...deletion });
    add('asset_lineage', { env_id, upstream_asset_id: 'a', downstream_asset_id: 'b' });
    add('asset_health_scores', score);
    add('asset_health_score_history', { ...score, dimension: 'total' });
    addRuns(['FAIL'], { env_id });
    addRuns(['FAIL'], { env_id }, 'latest_test_executions');
  }
});

describe('the views of assets', () => {
  test('live_assets shows an unknown kind as other', () => {
    const kinds = ['table', 'bi', 'semantic', 'etl', 'other', 'notebook', 'TABLE', null];
    add('assets', ...kinds.map((kind, i) => ({ id: String(i), kind })));
    const shown = ['table', 'bi', 'semantic', 'etl', 'other', 'other', 'other', 'other'];
    expect(pluck('SELECT kind FROM live_assets ORDER BY id')).toEqual(shown);
  });

  test('live_tables and live_bi_assets have their kind only', () => {
    for (const kind of ['table', 'bi', 'etl', 'other']) add('assets', { id: kind, kind });
    expect(pluck('SELECT id FROM live_tables')).toEqual(['table']);
    expect(pluck('SELECT id FROM live_bi_assets')).toEqual(['bi']);
  });

  test('a live column or test of a deleted asset has no asset name', () => {
    add('assets', { id: 'a', name: 'orders' }, { id: 'b', name: 'old_orders', ...gone });
    add('columns', { id: 'c1', asset_id: 'a' }, { id: 'c2', asset_id: 'b' }, { id: 'c3', asset_id: 'unseen' });
    add('tests', { id: 't1', disabled: 1, asset_id: 'a' }, { id: 't2', disabled: 0, asset_id: 'b' });
    expect(pluck('SELECT asset_name FROM live_columns ORDER BY id')).toEqual(['orders', null, null]);
    expect(pluck('SELECT asset_name FROM live_tests ORDER BY id')).toEqual(['orders', null]);
    expect(pluck('SELECT asset_name FROM test_status')).toEqual([null]);
  });

  test.each([
    ['strings as they are', '["b, c", "a"]', ['b, c', 'a']],
    ['numbers and booleans as text', '[1, 2.5, true, false]', ['1', '2.5', 'true', 'false']],
    ['an object by its name, else email, else id', objects('name', 'email', 'id'), ['my name', 'my email', 'my id']],
    ['an object without any of these as JSON', '[{"name":"","x":1}]', ['{"name":"","x":1}']],
    ['a list as JSON', '[["a"]]', ['["a"]']],
    ['a repeated value once', '["a", "a"]', ['a']],
    ['no empty values', '[null, "", "a"]', ['a']],
    ['nothing for an empty list', '[]', []],
    ['nothing for an object instead of a list', '{"a": 1}', []],
    ['nothing for a lone string', '"a"', []],
    ['nothing for invalid JSON', '[oops', []],
    ['nothing for an empty text', '', []],
    ['nothing for NULL', null, []],
  ])('asset_tags and asset_owners show %s', (_, list, shown) => {
    add('assets', { id: 'a', tags: list }, { id: 'b', owners: list });
    expect(select('SELECT asset_id, tag FROM asset_tags')).toEqual(shown.map((tag) => ({ asset_id: 'a', tag })));
    expect(select('SELECT asset_id, owner FROM asset_owners')).toEqual(
      shown.map((owner) => ({ asset_id: 'b', owner })),
    );
  });

  test('the live views join owners and tags with commas, or have NULL for none', () => {
    const lists = { owners: '[{"email":"ann@x.org"},"bob"]', tags: '[]' };
    add('assets', { id: 'a', kind: 'table', ...lists }, { id: 'b', kind: 'table', owners: '{', tags: '["x"]' });
    add('tests', { id: 't', disabled: 0, asset_id: 'a', owners: '["eve"]', tags: '["x", "y"]' });
    const [all, tables] = ['live_assets', 'live_tables'].map((it) =>
      select(`SELECT owners, tags FROM ${it} ORDER BY id`),
    );
    expect(all).toEqual([
      { owners: 'ann@x.org, bob', tags: null },
      { owners: null, tags: 'x' },
    ]);
    expect(tables).toEqual(all);
    expect(select('SELECT owners, tags FROM live_tests')).toEqual([{ owners: 'eve', tags: 'x, y' }]);
    expect(select('SELECT test_owners, asset_owners FROM test_status')).toEqual([
      { test_owners: 'eve', asset_owners: 'ann@x.org, bob' },
    ]);
  });

  /** Objects with fewer and fewer of their possible names. */
  function objects(...keys: string[]): string {
    return JSON.stringify(keys.map((_, i) => Object.fromEntries(keys.slice(i).map((key) => [key, `my ${key}`]))));
  }
});

describe('the views of health', () => {
  const at = (hour: string) => ({ test_count: 2, bucket_at: `2026-11-${hour}:00:00.000000Z` });

  test('asset_health has one column per known dimension, NULL without a score, and none for unknown ones', () => {
    add(
      'asset_health_scores',
      { asset_id: 'a', score: 0.9, ...at('20T05') },
      { asset_id: 'b', score: 0, ...at('20T05') },
    );
    const known = ['completeness', 'uniqueness', 'freshness', 'validity', 'accuracy', 'consistency'];
    known.forEach((dimension, i) => {
      add('asset_health_score_dimensions', { asset_id: 'a', dimension, score: i / 10, ...at('20T04') });
    });
    add('asset_health_score_dimensions', { asset_id: 'b', dimension: 'freshness', score: 0, ...at('20T04') });
    add('asset_health_score_dimensions', { asset_id: 'b', dimension: 'volume', score: 1, ...at('20T04') });
    const shown = (asset: string) => select(`SELECT total, ${known} FROM asset_health WHERE asset_id = ?`, asset);
    expect(shown('a').map(Object.values)).toEqual([[0.9, 0, 0.1, 0.2, 0.3, 0.4, 0.5]]);
    expect(shown('b').map(Object.values)).toEqual([[0, null, null, 0, null, null, null]]);
  });

  test('health_daily has a day’s last score and the mean of its buckets, per asset and dimension', () => {
    const total = { asset_id: 'a', dimension: 'total' };
    add(
      'asset_health_score_history',
      { ...total, score: 0.25, ...at('20T09') },
      { ...total, score: 1, ...at('20T04') },
    );
    add('asset_health_score_history', { ...total, score: 0.5, ...at('21T00') });
    add('asset_health_score_history', { asset_id: 'a', dimension: 'volume', score: 0.75, ...at('20T09') });
    expect(select('SELECT dimension, day, score, mean_score mean, bucket_count buckets FROM health_daily')).toEqual([
      { dimension: 'total', day: '2026-11-20', score: 0.25, mean: 0.625, buckets: 2 },
      { dimension: 'total', day: '2026-11-21', score: 0.5, mean: 0.5, buckets: 1 },
      { dimension: 'volume', day: '2026-11-20', score: 0.75, mean: 0.75, buckets: 1 },
    ]);
  });
});
