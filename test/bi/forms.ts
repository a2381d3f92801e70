/*
 * The file formats of other tools, as far as obsync uses them, as JSON schemas. They are closed: a field that is not
 * named here is unknown to the tool. The originals: `core-spec/osi-schema.json` of apache/ossie (0.2.0.dev0),
 * `schemas/` of dbt-labs/dbt-jsonschema, and the classes `ImportV1…Schema` and the importers of apache/superset.
 */

export const text = { type: 'string', minLength: 1 };
const flag = { type: 'boolean' };
const texts = { type: 'array', minItems: 1, items: text };

/** An object with only these fields; those that end in `?` are optional. */
export function closed(fields: Readonly<Record<string, object>>): object {
  const named = Object.entries(fields).map(([name, schema]) => [name.replace('?', ''), schema]);
  const required = Object.keys(fields).filter((name) => !name.endsWith('?'));
  return { type: 'object', properties: Object.fromEntries(named), required, additionalProperties: false };
}

export const listOf = (items: object): object => ({ type: 'array', minItems: 1, items });

const expression = closed({ dialects: listOf(closed({ dialect: { enum: ['ANSI_SQL'] }, expression: text })) });

/** Apache Ossie 0.2.0.dev0. */
export const OSSIE = closed({
  version: { const: '0.2.0.dev0' },
  name: text,
  description: text,
  ai_context: closed({ instructions: text }),
  datasets: listOf(
    closed({
      name: text,
      source: text,
      'primary_key?': texts,
      description: text,
      fields: listOf(closed({ name: text, expression, 'dimension?': closed({ is_time: flag }), description: text })),
    }),
  ),
  relationships: listOf(closed({ name: text, from: text, to: text, from_columns: texts, to_columns: texts })),
  metrics: listOf(closed({ name: text, expression, description: text })),
});

const period = closed({ count: { type: 'integer' }, period: { enum: ['minute', 'hour', 'day'] } });

const dataTests = listOf({
  oneOf: [
    { enum: ['not_null', 'unique'] },
    closed({ unique: closed({ arguments: closed({ column_name: text }) }) }),
    closed({ accepted_values: closed({ arguments: closed({ values: texts }) }) }),
  ],
});

/** The sources of a dbt project, from dbt 1.10.5 on. */
export const DBT = closed({
  version: { const: 2 },
  sources: listOf(
    closed({
      name: text,
      description: text,
      database: text,
      schema: text,
      tables: listOf(
        closed({
          name: text,
          description: text,
          'config?': closed({
            loaded_at_query: text,
            freshness: closed({ warn_after: period, error_after: period }),
          }),
          'data_tests?': dataTests,
          columns: listOf(closed({ name: text, description: text, 'data_tests?': dataTests })),
        }),
      ),
    }),
  ),
});

const uuid = { type: 'string', pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' };
const version = { const: '1.0.0' };
const textOrNull = { type: ['string', 'null'] };

/** The files of a Superset import, by the first folder of their path. */
export const SUPERSET: Readonly<Record<string, object>> = {
  'metadata.yaml': closed({ version, type: { enum: ['Dashboard', 'assets'] } }),
  databases: closed({
    database_name: text,
    sqlalchemy_uri: text,
    expose_in_sqllab: flag,
    allow_dml: flag,
    allow_csv_upload: flag,
    extra: { type: 'object' },
    uuid,
    version,
  }),
  datasets: closed({
    table_name: text,
    description: text,
    schema: text,
    sql: text,
    main_dttm_col: textOrNull,
    uuid,
    database_uuid: uuid,
    columns: listOf(
      closed({
        column_name: text,
        verbose_name: text,
        description: textOrNull,
        type: text,
        is_dttm: flag,
        groupby: flag,
        filterable: flag,
      }),
    ),
    metrics: {
      type: 'array',
      items: closed({
        ...{ metric_name: text, verbose_name: text, expression: text, description: text, d3format: text },
      }),
    },
    version,
  }),
  charts: closed({
    slice_name: text,
    description: text,
    viz_type: {
      enum: ['table', 'big_number_total', 'echarts_timeseries_line', 'echarts_timeseries_bar'],
    },
    params: { type: 'object', required: ['viz_type', 'adhoc_filters'] },
    query_context: text,
    uuid,
    dataset_uuid: uuid,
    version,
  }),
  dashboards: closed({
    dashboard_title: text,
    description: text,
    slug: textOrNull,
    published: { const: true },
    uuid,
    position: { type: 'object' },
    metadata: { type: 'object' },
    version,
  }),
};
