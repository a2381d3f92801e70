import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ColumnKind } from '../../schema/column-types.ts';
import { DICTIONARY } from '../../schema/dictionary.ts';
import { METRICS } from '../../schema/metrics.ts';
import { axesOf, placeCharts } from '../../src/bi/chart.ts';
import { type ChartDialect, POSTGRESQL, SQLITE } from '../../src/bi/chart-dialect.ts';
import { CHART_SECTIONS, CHARTS } from '../../src/bi/charts.ts';
import { type MirrorFile, openForReading } from '../../src/destination/sqlite/open.ts';
import { folder, obsync } from '../cli/setup.ts';
import { queries } from './setup.ts';

let mirror: MirrorFile;
let postgres: PGlite;

beforeAll(async () => {
  const cwd = folder();
  expect(await obsync(['demo', '--db', 'demo.db'], { cwd })).toMatchObject({ code: 0 });
  mirror = openForReading(join(cwd, 'demo.db'));
  postgres = await copyOf(mirror);
});

afterAll(async () => {
  mirror?.connection.close();
  await postgres?.close();
});

const POSTGRESQL_TYPES: Readonly<Record<ColumnKind, string>> = {
  text: 'text',
  integer: 'bigint',
  real: 'double precision',
  flag: 'boolean',
  time: 'timestamptz',
  day: 'date',
  json: 'jsonb',
};

/**
 * Every table and view of the mirror as a table of a real PostgreSQL, with the column types that it has there and the
 * rows that the charts need.
 */
async function copyOf({ connection }: MirrorFile): Promise<PGlite> {
  const copy = await PGlite.create();
  // Charts use UTC days, whatever the database's time zone.
  await copy.exec("set timezone = 'Pacific/Kiritimati'");
  for (const { name, columns } of DICTIONARY) {
    const declared = columns.map((column) => `"${column.name}" ${POSTGRESQL_TYPES[column.kind]}`);
    await copy.exec(`create table "${name}" (${declared.join(', ')})`);
    if (!isAsked(name)) continue;
    const rows = connection.prepare(`select * from "${name}"`).all();
    await copy.query(`insert into "${name}" select * from json_populate_recordset(null::"${name}", $1::json)`, [
      JSON.stringify(rows),
    ]);
  }
  return copy;
}

const isAsked = (table: string): boolean =>
  queries(SQLITE).some(([, , sql]) => new RegExp(`(from|join) ${table}\\b`).test(sql));

/** Normalizes a value of either database: numbers to four digits, times and days to text. */
function comparable(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString().slice(0, 19);
  const text = String(value);
  if (/^\d{4}-\d\d-\d\d(T|$)/.test(text)) return new Date(text).toISOString().slice(0, 19);
  return value !== null && /^-?[\d.]+(e-?\d+)?$/.test(text) ? Number(text).toPrecision(4) : value;
}

const comparableRows = (rows: readonly unknown[]): string[] =>
  rows.map((row) => JSON.stringify(Object.values(row as object).map(comparable))).sort();

/** Whether a value from SQLite has the column type that the chart declares. */
const FITS: Readonly<Record<string, RegExp>> = {
  text: /^/,
  integer: /^-?\d+$/,
  real: /^-?\d+(\.\d+)?(e-?\d+)?$/,
  timestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/,
  date: /^\d{4}-\d\d-\d\d$/,
};

describe('the query of each chart', () => {
  test.each(queries(SQLITE))('it runs on a mirror in SQLite and returns the declared columns: %s', (_, chart, sql) => {
    const statement = mirror.connection.prepare(sql);
    expect(statement.columns().map(({ name }) => name)).toEqual(chart.columns.map(({ name }) => name));
    const rows = statement.all() as Record<string, unknown>[];
    expect(rows).not.toEqual([]);
    for (const { name, type } of chart.columns) {
      const values = rows.map((row) => row[name]).filter((value) => value !== null);
      for (const value of values) expect(String(value)).toMatch(FITS[type] as RegExp);
    }
  });

  test.each(queries(SQLITE))(
    'each column has values of one type, because some drivers infer it from the first row: %s',
    (_, chart, sql) => {
      for (const { name, type } of chart.columns) {
        const stored = type === 'integer' || type === 'real' ? type : 'text';
        const types = mirror.connection.prepare(`select distinct typeof("${name}") from (${sql})`).pluck().all();
        expect(types.filter((each) => each !== 'null' && each !== stored)).toEqual([]);
      }
    },
  );

  test.each(queries(SQLITE))('every column that is drawn has a value: %s', (_, chart, sql) => {
    const drawn = chart.kind === 'table' ? chart.columns.slice(0, 2) : chart.columns;
    const rows = mirror.connection.prepare(sql).all() as Record<string, unknown>[];
    for (const { name } of drawn) expect(rows.some((row) => row[name] !== null)).toBe(true);
    if (chart.kind === 'value') expect(rows).toHaveLength(1);
  });

  const TYPE_IDS: Readonly<Record<string, readonly number[]>> = {
    text: [25],
    integer: [20, 1700],
    real: [701, 1700],
    timestamp: [1184],
    date: [1082],
  };

  test.each(queries(POSTGRESQL))('it runs on PostgreSQL and returns the declared types: %s', async (_, chart, sql) => {
    const { fields } = await postgres.query(sql);
    expect(fields.map(({ name }) => name)).toEqual(chart.columns.map(({ name }) => name));
    fields.forEach(({ dataTypeID }, i) => {
      expect(TYPE_IDS[chart.columns[i]?.type ?? '']).toContain(dataTypeID);
    });
  });

  test.each(queries(SQLITE).filter(([, , sql]) => !sql.includes("julianday('now')")))(
    'both databases return the same rows, unless the query depends on the current time: %s',
    async (_, chart, sql) => {
      const { rows } = await postgres.query(chart.sql(POSTGRESQL));
      expect(comparableRows(rows)).toEqual(comparableRows(mirror.connection.prepare(sql).all()));
    },
  );

  const withAxes = queries(SQLITE).filter(([, { kind }]) => kind === 'line' || kind === 'bar');

  test.each(withAxes)('each series has one point per position on the axis: %s', (_, chart, sql) => {
    const { axis, series } = axesOf(chart);
    const rows = mirror.connection.prepare(sql).all() as Record<string, unknown>[];
    const points = rows.map((row) => JSON.stringify([row[axis.name], series === null ? null : row[series.name]]));
    expect(new Set(points).size).toBe(points.length);
  });
});

describe('the SQL dialects of the charts', () => {
  const tenDaysAgo = new Date(Date.now() - 240 * 3_600_000).toISOString().replace('Z', '000Z');

  const answers = (dialect: ChartDialect, time: string) => `select ${dialect.hoursSince(time)} as hours,
  case when ${dialect.isUnset('null')} then 1 else 0 end as is_unset,
  case when ${dialect.dayOf(time)} = ${dialect.daysAgo(10)} then 1 else 0 end as is_same_day`;

  test('both agree on hours until now, UTC days, and that a NULL flag is unset', async () => {
    const sqlite = mirror.connection.prepare(answers(SQLITE, `'${tenDaysAgo}'`)).all();
    const { rows } = await postgres.query(answers(POSTGRESQL, `'${tenDaysAgo}'::timestamptz`));
    for (const row of [...sqlite, ...rows] as Record<string, unknown>[]) {
      expect(row).toMatchObject({ is_unset: 1, is_same_day: 1 });
      expect(Math.abs(Number(row['hours']) - 240)).toBeLessThan(1);
    }
  });
});

describe('the list of charts', () => {
  test('ids and titles are unique, so a tool finds each chart again', () => {
    for (const names of [CHARTS.map(({ id }) => id), CHARTS.map(({ title }) => title)])
      expect(new Set(names).size).toBe(names.length);
  });

  test('it has sections for freshness, failures, coverage, trend and incidents', () => {
    expect(CHART_SECTIONS.map(({ title }) => title)).toEqual([
      'Freshness of the mirror',
      'Failing now',
      'Coverage',
      'Health trend',
      'Incidents',
    ]);
  });

  test('it uses every metric of the dictionary', () => {
    const all = queries(SQLITE).map(([, , sql]) => sql);
    for (const { view, expression } of Object.values(METRICS))
      expect(all.filter((sql) => sql.includes(expression) && sql.includes(`from ${view}`))).not.toEqual([]);
  });

  test('no two charts overlap in the layout, and none exceeds the grid', () => {
    const heights = { value: 3, line: 6, bar: 6, table: 7 };
    for (const { charts } of CHART_SECTIONS) {
      const { places, nextRow } = placeCharts(charts, { columns: 24, heights, firstRow: 5 });
      const cells = places.flatMap(({ column, row, width, height }) =>
        Array.from({ length: width * height }, (_, i) => `${column + (i % width)},${row + Math.floor(i / width)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(places.every(({ column, width }) => column + width <= 24)).toBe(true);
      expect(Math.max(...places.map(({ row, height }) => row + height))).toBe(nextRow);
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
