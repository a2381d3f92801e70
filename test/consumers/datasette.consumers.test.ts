import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
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

test('Datasette answers the query of every chart as SQL does', async () => {
  const cwd = folder();
  expect(await obsync(['demo', '--db', 'demo.db'], { cwd })).toMatchObject({ code: 0 });
  await writeBi({ tool: 'datasette', to: cwd, db: join(cwd, 'demo.db') });
  const mirror = new Database(join(cwd, 'demo.db'), { readonly: true });
  for (const [id, chart] of Object.entries<Chart>(CHARTS)) {
    const said = await runLines(
      `datasette demo.db -m metadata.json --setting sql_time_limit_ms 60000 --get '/demo/${id}.json?_shape=arrays'`,
      cwd,
      {},
    );
    const { rows } = JSON.parse(said) as { rows: unknown[][] };
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
