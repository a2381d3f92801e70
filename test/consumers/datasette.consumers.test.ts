import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, expect, test } from 'vitest';
import { writeBi } from '../../src/api/bi.ts';
import { CHARTS, type Chart } from '../../src/bi/charts.ts';
import { SQLITE } from '../../src/bi/dialect.ts';
import { answerColumnsOf, chartSql } from '../../src/bi/query.ts';
import { obsync } from '../cli/setup.ts';
import { folder } from '../export/setup.ts';
import { runLines } from './consumer.ts';

const isAge = ({ name }: { readonly name: string }): boolean => /hours_(open|since)/.test(name);

/** SQLite's versions add real numbers differently. */
const withoutLastDigits = (value: unknown): unknown => (typeof value === 'number' ? value.toPrecision(12) : value);

const cwd = folder();

beforeAll(async () => {
  expect(await obsync(['demo', '--db', 'demo.db'], { cwd })).toMatchObject({ code: 0 });
  await writeBi({ tool: 'datasette', to: cwd, db: join(cwd, 'demo.db') });
});

/** What Datasette answers. */
const get = (path: string): Promise<string> =>
  runLines(`datasette demo.db -m metadata.json --setting sql_time_limit_ms 60000 --get '/demo/${path}'`, cwd, {});

test('Datasette explains a view and its columns, shows the unit of a number, and counts the rows by environment and status', async () => {
  const page = await get('test_incidents?resolved_at__notblank=1');
  expect(page).toMatch(/metadata-description">\s+A row per stretch of consecutive/);
  expect(page).toMatch(/<dt>hours_to_resolve<\/dt><dd>the same for a resolved incident/);
  expect(page).toMatch(/class="col-hours_to_resolve[^>]*>[\d.]+&nbsp;h</);
  const { facet_results: counts } = JSON.parse(await get('failing_tests.json?_size=0'));
  expect(Object.keys(counts)).toEqual(['env_name', 'severity', 'status']);
});

test('Datasette answers the query of every chart as SQL does', async () => {
  const mirror = new Database(join(cwd, 'demo.db'), { readonly: true });
  for (const [id, chart] of Object.entries<Chart>(CHARTS)) {
    const { rows } = JSON.parse(await get(`${id}.json?_shape=arrays`)) as { rows: unknown[][] };
    const asked = mirror
      .prepare(chartSql(chart, SQLITE, []))
      .raw()
      .all() as unknown[][];
    // An age grows from one query to the next.
    const kept = answerColumnsOf(chart).map((column) => !isAge(column));
    const comparable = (each: unknown[][]): unknown[][] =>
      each.map((row) => row.filter((_, i) => kept[i]).map(withoutLastDigits));
    expect([id, comparable(rows)]).toEqual([id, comparable(asked)]);
  }
  mirror.close();
});
