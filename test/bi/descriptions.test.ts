import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { DICTIONARY } from '../../schema/dictionary.ts';
import { METRICS } from '../../schema/metrics.ts';
import { ACCEPTED_VALUES } from '../../src/bi/dbt.ts';
import { MARK } from '../../src/bi/generated-file.ts';
import { EXPORT_RELATIONS } from '../../src/export/relation.ts';
import { testSchema } from '../support/postgres.ts';
import { DBT, OSSIE } from './forms.ts';
import { contentOf, filesOf, misfits } from './setup.ts';

interface NamedText {
  readonly name: string;
  readonly description: string;
}

interface DbtTable extends NamedText {
  readonly config?: { readonly loaded_at_query: string };
  readonly data_tests?: readonly { readonly unique: { readonly arguments: { readonly column_name: string } } }[];
  readonly columns: readonly (NamedText & { readonly data_tests?: readonly unknown[] })[];
}

const withColumns = DICTIONARY.map(({ name, columns }) => [name, columns.map((column) => column.name)]);

describe('the sources for dbt', () => {
  const file = filesOf('dbt').get('obsync_sources.yml');
  const content = contentOf(file);
  const sources: readonly { readonly name: string; readonly tables: readonly DbtTable[] }[] = content.sources;
  const tables = sources.flatMap((source) => source.tables);

  test('they match the schema of dbt, and say that obsync wrote them', () => {
    expect(misfits(DBT, content)).toEqual([]);
    expect(Buffer.from(file?.bytes ?? []).toString()).toMatch(new RegExp(`^# ${MARK}`));
  });

  test('they describe exactly the tables, views and columns of the mirror', () => {
    const described = tables.map(({ name, columns }) => [name, columns.map((column) => column.name)]);
    expect(described.sort()).toEqual(withColumns.toSorted());
    // dbt would expand a brace as a template, and links do not work there.
    for (const { description } of tables.flatMap((table) => [table, ...table.columns]))
      expect(description).toMatch(/^(?!.*(\{[{%#]|\]\(#)).*\S/);
  });

  test('the source obsync has what an export has, except the state, and obsync_state the other tables', () => {
    const namesOf = (source: string) =>
      sources
        .find(({ name }) => name === source)
        ?.tables.map(({ name }) => name)
        .sort();
    const exported = EXPORT_RELATIONS.map(({ name }) => name).filter(
      (name) => !['mirror_environments', 'pruned_history'].includes(name),
    );
    expect(namesOf('obsync')).toEqual(exported.toSorted());
    const others = DICTIONARY.map(({ name }) => name).filter((name) => !exported.includes(name));
    expect(namesOf('obsync_state')).toEqual(others.sort());
  });

  test.each(DICTIONARY.map((table) => [table.name, table] as const))(
    'they test the key of %s if it is a table',
    (name, { key: own, kind }) => {
      const key = kind === 'table' ? own : [];
      const table = tables.find((each) => each.name === name);
      const tested = (test: string) =>
        table?.columns.filter(({ data_tests = [] }) => data_tests.includes(test)).map((column) => column.name);
      expect(tested('not_null')?.sort()).toEqual([...key].sort());
      expect(tested('unique')).toEqual(key.length === 1 ? key : []);
      const together = table?.data_tests?.map(({ unique }) => unique.arguments.column_name);
      expect(together).toEqual(key.length > 1 ? [key.join(" || '/' || ")] : undefined);
    },
  );

  test.each(ACCEPTED_VALUES.flatMap(([names, column, values]) => names.map((name) => [name, column, values] as const)))(
    'the accepted values of %s.%s are exactly those of the dictionary',
    (name, column, values) => {
      const table = DICTIONARY.find((each) => each.name === name);
      const description = table?.columns.find((each) => each.name === column)?.description ?? '';
      const named = [...description.matchAll(/`([^`]+)`/g)].map(([, value]) => value);
      expect(named).toEqual(expect.arrayContaining([...values]));
      const written = tables.find((each) => each.name === name)?.columns.find((each) => each.name === column);
      expect(written?.data_tests).toContainEqual({ accepted_values: { arguments: { values } } });
    },
  );

  test('they are as fresh as the environment that is furthest behind, in SQL for PostgreSQL and DuckDB', async () => {
    const fresh = tables.filter(({ config }) => config !== undefined);
    expect(fresh.map(({ name }) => name)).toEqual(['environment_freshness']);
    const queryOver = (times: readonly string[]) =>
      (fresh[0]?.config?.loaded_at_query ?? '').replace(
        '{{ this }}',
        `(${times.map((time) => `select cast(${time} as text) as complete_at`).join(' union all ')}) t`,
      );
    const times = ["'2026-11-20T05:00:00.000000Z'", "'2026-11-20T04:10:00.123456Z'"];
    const us = String(Date.parse('2026-11-20T04:10:00.123Z') * 1000 + 456);
    const { ask } = await testSchema();
    const duck = await (await DuckDBInstance.create(':memory:')).connect();
    const answers = async (sql: string) => {
      const selected = `select (extract(epoch from loaded) * 1e6)::bigint as us from (${sql}) as q (loaded)`;
      const [row] = await ask(selected);
      const read = await duck.runAndReadAll(selected);
      return [row?.['us'], read.getRowsJson()[0]?.[0]];
    };
    expect(await answers(queryOver(times))).toEqual([us, us]);
    // dbt takes NULL for very old.
    expect(await answers(queryOver([...times, 'null']))).toEqual([null, null]);
    duck.closeSync();
  });
});

describe('the semantic layer of dbt', () => {
  const files = filesOf('dbt', { semantic: true });
  const { semantic_models: models, metrics } = contentOf(files.get('obsync_semantic.yml'));

  test('each semantic model is on a model of its own, over a table of the source', () => {
    for (const { name, model } of models) {
      expect(model).toBe(`ref('${name}')`);
      const sql = Buffer.from(files.get(`${name}.sql`)?.bytes ?? []).toString();
      expect(sql).toContain(`from {{ source('obsync', '${name.replace('obsync_', '')}') }}`);
    }
  });

  test('its dimensions are columns of their view or its time, and none is named like a granularity', () => {
    for (const { name, dimensions, measures = [] } of models) {
      const [, columns = []] = withColumns.find(([view]) => `obsync_${view}` === name) ?? [];
      const own = [...columns, ...measures.map((each: { agg_time_dimension: string }) => each.agg_time_dimension)];
      for (const { name: dimension } of dimensions) expect(own).toContain(dimension);
      expect(dimensions.map((dimension: NamedText) => dimension.name)).not.toContain('day');
    }
  });

  test('it has every metric of the dictionary, from measures with the same expression', () => {
    const measures = new Map(
      models.flatMap(({ measures: own = [] }) => own).map((each: { name: string; expr: string }) => [each.name, each]),
    );
    expect(metrics.map(({ label }: { label: string }) => label)).toEqual(Object.keys(METRICS));
    for (const [i, { expression }] of Object.values(METRICS).entries()) {
      const used = Object.values<string>(metrics[i].type_params).map((name) => measures.get(name)) as {
        expr: string;
      }[];
      for (const { expr } of used) expect(expression.replace('distinct ', '')).toContain(`(${expr})`);
    }
  });
});

describe('the semantic model', () => {
  const model = contentOf(filesOf('semantic').get('obsync.ossie.yaml'));
  const columnsOf = (name: string): readonly string[] =>
    DICTIONARY.find((table) => table.name === name)?.columns.map((column) => column.name) ?? [];

  test('it matches the schema of Apache Ossie 0.2.0.dev0', () => {
    expect(misfits(OSSIE, model)).toEqual([]);
  });

  test('it describes every view, the environments and their columns in the words of the dictionary', () => {
    const shown = DICTIONARY.filter(({ name, kind }) => kind === 'view' || name === 'environments');
    const said = (table: { name: string }, rows: readonly object[]): unknown[] => [table.name, ...rows];
    expect(
      model.datasets.map((each: { name: string; fields: (NamedText & object)[] }) =>
        said(
          each,
          each.fields.map(({ name, description }) => ({ name, description })),
        ),
      ),
    ).toEqual(
      shown.map((table) =>
        said(
          table,
          table.columns.map(({ name, description }) => ({ name, description })),
        ),
      ),
    );
  });

  test('its relationships lead from existing columns to unique keys', () => {
    expect(model.relationships.length).toBeGreaterThan(20);
    const names = new Set<string>();
    for (const { name, from, to, from_columns, to_columns } of model.relationships) {
      names.add(name);
      expect(columnsOf(from)).toEqual(expect.arrayContaining(from_columns));
      expect(DICTIONARY.find((table) => table.name === to)?.key).toEqual(to_columns);
      expect(from_columns).toHaveLength(to_columns.length);
    }
    expect(names.size).toBe(model.relationships.length);
  });

  test('it contains every metric of the dictionary, on existing columns', () => {
    const names = Object.keys(METRICS).map((name) => name.replaceAll(' ', '_'));
    expect(model.metrics.map(({ name }: NamedText) => name)).toEqual(names);
    Object.values(METRICS).forEach(({ view, expression, description }, i) => {
      const [{ expression: qualified }] = model.metrics[i].expression.dialects;
      expect(qualified.replaceAll(`${view}.`, '')).toBe(expression);
      const named = [...qualified.matchAll(/(\w+)\.([a-z]\w*)/g)].map(([, table, column]) => [table, column]);
      expect(named).not.toEqual([]);
      for (const [table, column] of named) expect(columnsOf(table)).toContain(column);
      expect(model.metrics[i].description).toBe(description);
    });
  });
});
