import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DICTIONARY } from '../../schema/dictionary.ts';
import { ENVIRONMENT_FIELDS } from '../../src/core/schedule/environments.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { EXPORT_FORMATS } from '../../src/export/formats.ts';
import { EXPORT_RELATIONS } from '../../src/export/relation.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import {
  ALL_RELATIONS,
  dataFiles,
  exportedMirror,
  exportOf,
  fillMirror,
  fillWide,
  folder,
  insert,
  makeMirror,
  manifestIn,
  mirroredAt,
  mirrorRows,
  openMirror,
  readBack,
  readByFolder,
  readWith,
  TABLES,
  verifyOf,
} from './setup.ts';

const DUCKDB_TYPES = {
  text: 'VARCHAR',
  integer: 'BIGINT',
  real: 'DOUBLE',
  boolean: 'BOOLEAN',
  timestamp: 'TIMESTAMP WITH TIME ZONE',
  date: 'DATE',
  json: 'JSON',
} as const;

const declaredTypes = Object.fromEntries(
  EXPORT_RELATIONS.map(({ name, columns }) => [
    name,
    Object.fromEntries(columns.map((column) => [column.name, DUCKDB_TYPES[column.type]])),
  ]),
);

const withTextForJson = (table: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(declaredTypes[table] ?? {}).map(([name, type]) => [name, type === 'JSON' ? 'VARCHAR' : type]),
  );

describe.each(EXPORT_FORMATS)('an export as %s read by DuckDB', (format) => {
  let mirror: MirrorFile;
  const to = folder();

  beforeAll(async () => {
    mirror = makeMirror();
    await exportOf(mirror, to, { format, views: true });
  });
  afterAll(() => mirror.connection.close());

  test('it has every row of every table and view, with the types of the columns', async () => {
    const { types, rows } = await readBack(to, ALL_RELATIONS);
    expect(types).toEqual(declaredTypes);
    expect(rows).toEqual(mirrorRows(mirror, ALL_RELATIONS));
    for (const table of TABLES) expect(rows[table]).not.toEqual([]);
  });

  test('a table is read by its folder, with no column besides those of the mirror', async () => {
    const { types, rows } = await readByFolder(to, TABLES, format);
    for (const table of TABLES) {
      expect(Object.keys(types[table] ?? {})).toEqual(Object.keys(declaredTypes[table] ?? {}));
      if (format === 'parquet' || format === 'delta') expect(types[table]).toEqual(withTextForJson(table));
      expect(rows[table]).toHaveLength(mirrorRows(mirror, [table])[table]?.length ?? 0);
    }
  });

  test('it has the types of the columns even without rows', async () => {
    const [empty, place] = [openMirror(() => {}), folder()];
    await exportOf(empty, place, { format, views: true });
    expect(await readBack(place, ALL_RELATIONS)).toEqual({
      types: declaredTypes,
      rows: Object.fromEntries(ALL_RELATIONS.map((name) => [name, []])),
    });
  });
});

describe('an export read by DuckDB', () => {
  test.each(EXPORT_FORMATS)('as %s a row of 15 MB is read', async (format) => {
    const [mirror, to] = [openMirror(), folder()];
    const description = 'x'.repeat(15_000_000);
    insert(mirror, 'assets', { env_id: 'e1', id: 'long', name: 'a', description, mirrored_at: mirroredAt(1) });
    await exportOf(mirror, to, { format, tables: ['assets'], views: true });
    const { rows } = await readBack(to, ['assets']);
    expect(JSON.stringify(rows['assets']).includes(description)).toBe(true);
  });

  test.each([
    ['parquet', 'read_parquet'],
    ['csv', 'read_csv'],
    ['ndjson', 'read_text'],
  ] as const)(
    'as %s a table without rows has one file, which has its columns (NDJSON: nothing)',
    async (format, read) => {
      const [mirror, to] = [openMirror(), folder()];
      mirror.connection.exec('delete from assets; delete from test_executions');
      const choice = { format, tables: ['assets', 'test_executions', 'failing_tests', 'tests'] } as const;
      await exportOf(mirror, to, choice);
      const empty = ['assets', 'test_executions'];
      const sources = empty.map((table) => [table, `${read}('${to}/${table}/**')`] as const);
      const { types, rows } = await readWith('', Object.fromEntries(sources));
      for (const table of empty) {
        if (format === 'ndjson')
          expect(rows[table]).toMatchObject([[expect.stringContaining(`/${table}/part-`), '', '0', expect.anything()]]);
        else
          expect([Object.keys(types[table] ?? {}), rows[table]]).toEqual([Object.keys(declaredTypes[table] ?? {}), []]);
        if (format === 'parquet') expect(types[table]).toEqual(withTextForJson(table));
      }
      expect(await exportOf(mirror, to, choice)).toMatchObject({ files_written: 0 });
      insert(mirror, 'assets', { env_id: 'e1', id: 'a', name: 'a', mirrored_at: mirroredAt(1) });
      await exportOf(mirror, to, { ...choice, keep: 0 });
      expect(dataFiles(to).filter((path) => path.startsWith('.files/assets/'))).toEqual([
        expect.stringContaining('.files/assets/e1/'),
      ]);
      expect(await verifyOf(mirror, to)).toMatchObject({ equal: true });
    },
  );

  test.each([
    ['csv', 'read_csv'],
    ['ndjson', 'read_json'],
  ] as const)('as %s whole numbers in a column of reals have a decimal point', async (format, read) => {
    const [mirror, to] = [openMirror(), folder()];
    mirror.connection.exec('update test_executions set duration_seconds = rowid');
    mirror.connection.exec("update test_executions set duration_seconds = 1e300, status = '1' where id = 'run-1'");
    await exportOf(mirror, to, { format, tables: ['test_executions'] });
    const { types, rows } = await readWith('', {
      it: `(select duration_seconds from ${read}('${to}/test_executions/**'))`,
    });
    expect(types['it']).toEqual({ duration_seconds: 'DOUBLE' });
    const expected = mirror.connection.prepare('select duration_seconds from test_executions').raw().all() as [
      number,
    ][];
    expect(rows['it']?.map(Number).sort((a, b) => a - b)).toEqual(expected.map(Number).sort((a, b) => a - b));
    expect(readFileSync(join(to, dataFiles(to)[0] ?? ''), 'utf8')).toMatch(/\b\d+\.0\b/);
  });

  test('a table in many files and row groups reads like a small one', async () => {
    const { mirror, to } = await exportedMirror({ targetSize: 0.7 }, (file) =>
      fillWide(file, { columns: 3000, runs: 3000 }),
    );
    for (const table of ['columns', 'test_executions'])
      expect(manifestIn(to).files.filter((file) => file.table === table).length).toBeGreaterThan(2);
    expect((await readBack(to, TABLES)).rows).toEqual(mirrorRows(mirror, TABLES));
  });

  test('its folders are named after environments and months, and no name is hidden from a glob', async () => {
    const envs = ['prod.eu', '.dot', '_under', '..', 'dot.', 'a=b', 'É/2', '日'.repeat(90)];
    const { mirror, to } = await exportedMirror({ tables: ['assets', 'test_executions'] }, (file) =>
      fillMirror(file, { envs, runs: 1, assets: 1 }),
    );
    const folders = manifestIn(to).files.map(({ path }) => path.split('/').slice(1, -1).join('/'));
    const encoded = ['%2E%2E', '%2Edot', '%5Funder', '%C3%89%2F2', 'a%3Db', 'dot%2E', 'prod.eu'];
    const names = [...encoded, expect.stringMatching(/^sha256-[0-9a-f]{64}$/)];
    expect(
      folders
        .filter((path) => path.startsWith('assets'))
        .map((path) => path.slice('assets/'.length))
        .sort(),
    ).toEqual([...names]);
    expect(folders).toContain('test_executions/prod.eu/2026-08');
    expect((await readBack(to, ['assets'])).rows).toEqual(mirrorRows(mirror, ['assets']));
  });

  test.each(['parquet', 'delta'] as const)(
    'each %s file names its table, the meaning of its columns, and its instant',
    async (format) => {
      const { to } = await exportedMirror({ format, tables: ['assets'] });
      const [path = ''] = dataFiles(to);
      const duck = await (await DuckDBInstance.create(':memory:')).connect();
      const read = await duck.runAndReadAll(
        `select decode(key) as k, decode(value) as v from parquet_kv_metadata('${join(to, path)}')`,
      );
      const described = DICTIONARY.find(({ name }) => name === 'assets');
      const columns = Object.fromEntries((described?.columns ?? []).map((each) => [each.name, each.description]));
      const { instant, schema_version, tables } = manifestIn(to);
      expect(Object.fromEntries(read.getRowsJson() as [string, string][])).toEqual({
        'obsync.table': 'assets',
        'obsync.description': described?.description,
        'obsync.instant': instant,
        'obsync.schema_version': String(schema_version),
        'obsync.columns': JSON.stringify(columns),
      });
      expect(Object.keys(columns)).toEqual(tables[0]?.columns.map(({ name }) => name));
      duck.closeSync();
    },
  );
});

test('a Parquet file has bounds for its columns, but none for long texts, which would fill memory', async () => {
  const long = 'x'.repeat(2000);
  const mirror = openMirror((file) => {
    insert(file, 'environments', { id: 'e1', name: 'Production' });
    insert(file, 'assets', { env_id: 'e1', id: 'a', name: 'short', description: long, tags: '[]' });
  });
  const to = folder();
  await exportOf(mirror, to, { tables: ['assets'] });
  const duck = await (await DuckDBInstance.create(':memory:')).connect();
  const read = await duck.runAndReadAll(
    `select path_in_schema, stats_min_value from parquet_metadata('${join(to, dataFiles(to)[0] ?? '')}')
     where path_in_schema in ('id', 'name', 'description', 'tags')`,
  );
  expect(Object.fromEntries(read.getRowsJson() as [string, string | null][])).toEqual({
    id: 'a',
    name: 'short',
    description: null,
    tags: null,
  });
  duck.closeSync();
});

describe('the tables of an export', () => {
  test('they are all tables that streams are stored in, the clocks of the environments, what was pruned, and all views of the mirror', () => {
    const mirror = openMirror();
    const views = mirror.connection.prepare("select name from sqlite_schema where type = 'view'").pluck().all();
    expect(
      EXPORT_RELATIONS.filter(({ kind }) => kind === 'view')
        .map(({ name }) => name)
        .sort(),
    ).toEqual(views.sort());
    const kept = mirror.connection
      .prepare(
        "select m.name from sqlite_schema m where m.type = 'table' and m.name not like '%staged' and exists (select 1 from pragma_table_info(m.name) where name = 'extra')",
      )
      .pluck()
      .all();
    expect([...TABLES].sort()).toEqual([...kept, 'mirror_environments', 'pruned_history'].sort());
  });

  test('they have a timestamp for every instant, and for the times that the mirror adds (R4)', () => {
    const columnsOf = (table: string) => EXPORT_RELATIONS.find(({ name }) => name === table)?.columns ?? [];
    const fields = [
      ['environments', ENVIRONMENT_FIELDS] as const,
      ...CATALOGUE.map(({ table, fields }) => [String(table), fields] as const),
    ];
    for (const [table, each] of fields) {
      const instants = Object.entries(each)
        .filter(([, { type }]) => type === 'instant')
        .map(([name]) => name);
      const own = ['mirrored_at', 'deleted_at', 'missing_since'];
      const timestamps = columnsOf(table)
        .filter(({ type }) => type === 'timestamp')
        .map(({ name }) => name);
      expect(timestamps.filter((name) => !own.includes(name)).sort()).toEqual(
        expect.arrayContaining(
          instants.filter((name) => columnsOf(table).some((column) => column.name === name)).sort(),
        ),
      );
    }
  });

  test('the manifest has their columns, rows and bytes', async () => {
    const { mirror, to } = await exportedMirror({ tables: ['tests', 'failing_tests'] });
    const { tables, files, instant, schema_version } = manifestIn(to);
    expect(tables).toMatchObject([
      { name: 'tests', kind: 'table', rows: 80, bytes: expect.any(Number) },
      { name: 'failing_tests', kind: 'view' },
    ]);
    expect(tables[0]?.bytes).toBe(
      files.filter(({ table }) => table === 'tests').reduce((sum, { bytes }) => sum + bytes, 0),
    );
    expect(instant).toBe(mirror.connection.prepare('select max(mirrored_at) from mirror_environments').pluck().get());
    expect(schema_version).toBe(
      mirror.connection.prepare('select max(created_at) from __drizzle_migrations').pluck().get(),
    );
    expect(readFileSync(join(to, 'views.sql'), 'utf8')).toContain(`-- The mirror as of ${instant}`);
  });

  test('they are limited to the requested environments, by id or name', async () => {
    const { to } = await exportedMirror({ environments: ['name of e1'] });
    expect(new Set(manifestIn(to).files.map(({ env_id }) => env_id))).toEqual(new Set(['e1']));
    expect((await readBack(to, ['environments'])).rows['environments']).toHaveLength(1);
  });
});
