import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DICTIONARY } from '../../schema/dictionary.ts';
import { CHARTS, type Chart } from '../../src/bi/charts.ts';
import { type BiDialect, postgresqlIn, SQLITE } from '../../src/bi/dialect.ts';
import { gridOf, TABS } from '../../src/bi/layout.ts';
import { answerColumnsOf, chartSql } from '../../src/bi/query.ts';
import { type MirrorFile, openForReading } from '../../src/destination/sqlite/open.ts';
import { folder, obsync } from '../cli/setup.ts';
import { type BothMirrors, SCHEMA, startBothMirrors } from './both-mirrors.ts';
import { type Choice, grafanaQueries, metabaseQueries } from './tool-queries.ts';

const POSTGRESQL = postgresqlIn(SCHEMA);

/** Every chart with its id and query. */
function queries(dialect: BiDialect) {
  return Object.entries<Chart>(CHARTS).map(([id, chart]) => [id, chart, chartSql(chart, dialect, [])] as const);
}

let mirror: MirrorFile;
let mirrors: BothMirrors;

beforeAll(async () => {
  const cwd = folder();
  expect(await obsync(['demo', '--db', 'demo.db'], { cwd })).toMatchObject({ code: 0 });
  mirror = openForReading(join(cwd, 'demo.db'));
  mirrors = await startBothMirrors(mirror);
});

afterAll(() => mirrors?.close());

/** Normalizes a value of either database: flags to numbers, times and days to text. */
function comparable(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString().slice(0, 19);
  if (typeof value === 'boolean') return Number(value);
  const text = String(value);
  if (/^\d{4}-\d\d-\d\d(T|$)/.test(text)) return new Date(text).toISOString().slice(0, 19);
  return value !== null && /^-?[\d.]+(e-?\d+)?$/.test(text) ? Number(text) : value;
}

/** Rows without the columns that depend on the current time, in the order of their texts and whole numbers. */
function comparableRows(rows: readonly unknown[]): (readonly unknown[])[] {
  const cells = rows
    .map((row) => Object.entries(row as object).filter(([name]) => !['hours_open', 'hours_since_sync'].includes(name)))
    .map((row) => row.map(([, value]) => comparable(value)));
  const orderOf = (row: readonly unknown[]): string =>
    JSON.stringify(row.map((cell) => (typeof cell === 'number' && !Number.isInteger(cell) ? 0 : cell)));
  return cells.sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
}

/** A number within half of its fourth digit: the databases compute in different types. */
const nearly = (cell: unknown): unknown =>
  typeof cell === 'number' ? expect.closeTo(cell, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(cell) || 1)))) : cell;

/** Whether a value from SQLite has the column type that the chart declares. */
const FITS: Readonly<Record<string, RegExp>> = {
  text: /^/,
  integer: /^-?\d+$/,
  real: /^-?\d+(\.\d+)?(e-?\d+)?$/,
  flag: /^[01]$/,
  time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/,
  day: /^\d{4}-\d\d-\d\d$/,
};

describe('the query of each chart', () => {
  test.each(queries(SQLITE))('it runs on a mirror in SQLite and returns the declared columns: %s', (_, chart, sql) => {
    const columns = answerColumnsOf(chart);
    const statement = mirror.connection.prepare(sql);
    expect(statement.columns().map(({ name }) => name)).toEqual(columns.map(({ name }) => name));
    const rows = statement.all() as Record<string, unknown>[];
    expect(rows).not.toEqual([]);
    for (const { name, type } of columns) {
      const values = rows.map((row) => row[name]).filter((value) => value !== null);
      for (const value of values) expect(String(value)).toMatch(FITS[type] as RegExp);
    }
    if (chart.kind === 'value') expect(rows).toHaveLength(1);
  });

  test.each(queries(SQLITE))(
    'each column has values of one type, because some drivers infer it from the first row: %s',
    (_, chart, sql) => {
      for (const { name, type } of answerColumnsOf(chart)) {
        const stored = type === 'integer' || type === 'real' ? type : type === 'flag' ? 'integer' : 'text';
        const types = mirror.connection.prepare(`select distinct typeof("${name}") from (${sql})`).pluck().all();
        expect(types.filter((each) => each !== 'null' && each !== stored)).toEqual([]);
      }
    },
  );

  test.each(queries(SQLITE))('every column that is drawn has a value: %s', (_, chart, sql) => {
    const columns = answerColumnsOf(chart);
    const drawn = chart.kind === 'table' ? columns.slice(0, 2) : columns;
    const rows = mirror.connection.prepare(sql).all() as Record<string, unknown>[];
    for (const { name } of drawn) expect(rows.some((row) => row[name] !== null)).toBe(true);
  });

  const TYPES: Readonly<Record<string, readonly string[]>> = {
    text: ['text'],
    integer: ['bigint', 'numeric'],
    real: ['double precision', 'numeric'],
    flag: ['boolean'],
    time: ['timestamp with time zone'],
    day: ['date'],
  };

  test.each(queries(POSTGRESQL))('it runs on PostgreSQL and returns the declared types: %s', async (_, chart, sql) => {
    const columns = answerColumnsOf(chart);
    const types = columns.map(({ name }) => `cast(pg_typeof("${name}") as text) as "${name}"`);
    const [row] = await mirrors.ask('postgresql', `select ${types.join(', ')} from (${sql}) q limit 1`);
    for (const { name, type } of columns) expect(TYPES[type]).toContain(row?.[name]);
  });

  const withAxes = queries(SQLITE).filter(([, { kind }]) => kind !== 'value' && kind !== 'table');

  test.each(withAxes)('each series has one point per position on the axis: %s', (_, chart, sql) => {
    const rows = mirror.connection.prepare(sql).all() as Record<string, unknown>[];
    const points = rows.map((row) => JSON.stringify(chart.columns.map((name) => row[name])));
    expect(new Set(points).size).toBe(points.length);
  });
});

describe('the charts of Grafana and Metabase', () => {
  const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
  const [environment, owner] = ['Production Analytics', 'Data Platform'];

  test.each([
    ['Grafana', grafanaQueries, 'nothing', {}],
    ['Metabase', metabaseQueries, 'an environment', { environment }],
    ['Grafana', grafanaQueries, 'an owner', { owner }],
    ['Metabase', metabaseQueries, 'the last day', { from: daysAgo(1), to: daysAgo(0) }],
    ['Grafana', grafanaQueries, 'the last three days', { from: daysAgo(3), to: daysAgo(0) }],
    ['Metabase', metabaseQueries, 'days of the past', { from: daysAgo(9), to: daysAgo(4) }],
  ])('in %s, both databases return the same rows if the reader chose %3$s', async (_, queriesOf, _name, choice) => {
    const inPostgres = queriesOf('postgresql', choice);
    for (const [title, sql] of queriesOf('sqlite', choice)) {
      const rows = comparableRows(await mirrors.ask('sqlite', sql)).map((row) => row.map(nearly));
      expect(comparableRows(await mirrors.ask('postgresql', inPostgres.get(title) ?? '')), title).toEqual(rows);
    }
  });

  test('a chosen environment and owner leave fewer failing tests', async () => {
    const count = async (choice: Choice): Promise<number> => {
      const [row] = await mirrors.ask('sqlite', grafanaQueries('sqlite', choice).get('Failing tests') ?? '');
      return Number(row?.['failing_tests']);
    };
    const counts = [await count({}), await count({ environment }), await count({ environment, owner })];
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));
    expect(new Set(counts).size).toBe(3);
    expect(counts[2]).toBeGreaterThan(0);
  });
});

describe('the SQL dialects of the charts', () => {
  const tenDaysAgo = new Date(Date.now() - 240 * 3_600_000).toISOString().replace('Z', '000Z');

  const answers = (dialect: BiDialect, time: string) => `select ${dialect.hoursSince(time)} as hours,
  case when ${dialect.dayOf(time)} = ${dialect.daysAgo(10)} then 1 else 0 end as is_same_day`;

  test('both agree on hours until now and on UTC days', async () => {
    const sqlite = await mirrors.ask('sqlite', answers(SQLITE, `'${tenDaysAgo}'`));
    const postgresql = await mirrors.ask('postgresql', answers(POSTGRESQL, `'${tenDaysAgo}'::timestamptz`));
    for (const row of [...sqlite, ...postgresql]) {
      expect(row).toMatchObject({ is_same_day: 1 });
      expect(Math.abs(Number(row['hours']) - 240)).toBeLessThan(1);
    }
  });
});

describe('the list of charts', () => {
  test('titles are unique, so a tool finds each chart again', () => {
    const titles = Object.values<Chart>(CHARTS).map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });

  test('no two charts overlap in a grid, and none exceeds it', () => {
    const heights = { value: 3, line: 6, columns: 6, bar: 9, table: 7 };
    for (const { sections } of TABS) {
      const places = gridOf(sections, heights, 5);
      const cells = places.flatMap(({ x, y, w, h }) =>
        Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(places.every(({ x, w }) => x + w <= 24)).toBe(true);
    }
  });
});

describe('the keys of the dictionary', () => {
  const keyed = DICTIONARY.filter(({ key }) => key.length > 0);

  test.each(keyed.map(({ name, key }) => [name, key] as const))('they are unique and not NULL in %s', (name, key) => {
    const columns = key.join(', ');
    const nulls = key.map((column) => `${column} is null`).join(' or ');
    const twice = mirror.connection.prepare(`select ${columns} from ${name} group by ${columns} having count(*) > 1`);
    const without = mirror.connection.prepare(`select ${columns} from ${name} where ${nulls}`);
    expect([...twice.all(), ...without.all()]).toEqual([]);
  });
});
