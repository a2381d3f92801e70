import { DICTIONARY } from '../../schema/dictionary.ts';
import { METRICS, type MetricDefinition } from '../../schema/metrics.ts';
import { type DescribedColumn, type DescribedTable, descriptionOf } from '../../schema/table.ts';
import { STATE_TABLES } from '../../schema/tables.ts';
import { aliasOf } from './dataset.ts';
import { type GeneratedFile, NOTE, textFile, yamlFile } from './generated-file.ts';
import type { ToolPlaces } from './tool-places.ts';

/**
 * The columns with a closed list of values, as the dictionary documents them. All other columns may contain new values
 * that the service introduces.
 */
export const ACCEPTED_VALUES: [tables: string[], column: string, values: string[]][] = [
  [['assets', 'columns', 'tests'], 'deletion', ['tombstone', 'absent']],
  [['live_assets', 'asset_tags', 'asset_owners', 'stale_assets'], 'kind', ['table', 'bi', 'semantic', 'etl', 'other']],
  [['test_incidents'], 'worst_status', ['ERROR', 'FAIL', 'WARN']],
  [['sync_runs'], 'status', ['running', 'done', 'problems', 'refused', 'stopped', 'interrupted']],
  [['sync_runs'], 'command', ['sync', 'verify']],
  [['sync_runs'], 'left_over', ['unread', 'failed']],
  [['sync_stream_runs'], 'mode', ['scan', 'feed', 'snapshot', 'marked', 'window', 'none']],
  [['sync_stream_runs'], 'status', ['done', 'failed', 'denied', 'unavailable', 'held', 'waiting', 'stopped']],
];

const STATE = STATE_TABLES.map(descriptionOf);

/**
 * The mirror as two sources of a dbt project. An export has the tables of the first one only, and only these belong in
 * a lineage graph. Only keys of tables are tested: views are derived from tables, and some would take minutes to read.
 * Relationships have no tests, because an id may refer to an object that the token cannot see.
 */
export function dbtFiles({ semantic }: Pick<ToolPlaces, 'semantic'>): GeneratedFile[] {
  const sources = [
    sourceOf(
      'obsync',
      'The mirror of a data-observability service: assets, columns, lineage, tests, their results and health.',
      DICTIONARY.filter((table) => !STATE.includes(table)),
    ),
    sourceOf(
      'obsync_state',
      'The run log and the state of obsync: how fresh the mirror is, and what went wrong.',
      DICTIONARY.filter((table) => STATE.includes(table)),
    ),
  ];
  return [yamlFile('obsync_sources.yml', { version: 2, sources }), ...(semantic ? semanticLayer() : [])];
}

function sourceOf(name: string, description: string, tables: readonly DescribedTable[]): object {
  return {
    name,
    description,
    database: "{{ var('obsync_database', target.database) }}",
    schema: "{{ var('obsync_schema', target.schema) }}",
    tables: tables.map(tableOf),
  };
}

function tableOf(table: DescribedTable): object {
  const { name, description, columns } = table;
  const key = table.kind === 'table' ? table.key : [];
  return {
    name,
    description,
    config: name === 'environment_freshness' ? FRESHNESS : undefined,
    data_tests: key.length > 1 ? [{ unique: { arguments: { column_name: key.join(" || '/' || ") } } }] : undefined,
    columns: columns.map((column) => columnOf(name, key, column)),
  };
}

/** As old as the environment that is furthest behind: for `loaded_at_field`, dbt would take the newest. */
const FRESHNESS = {
  loaded_at_query:
    'select case when count(complete_at) = count(*) then min(cast(complete_at as timestamptz)) end from {{ this }}',
  freshness: { warn_after: { count: 24, period: 'hour' }, error_after: { count: 48, period: 'hour' } },
};

function columnOf(table: string, key: readonly string[], { name, description }: DescribedColumn): object {
  const values = ACCEPTED_VALUES.find(([tables, column]) => tables.includes(table) && column === name)?.[2];
  const tests = [
    ...(key.includes(name) ? ['not_null'] : []),
    ...(key.length === 1 && key[0] === name ? ['unique'] : []),
    ...(values === undefined ? [] : [{ accepted_values: { arguments: { values } } }]),
  ];
  return { name, description, data_tests: tests.length === 0 ? undefined : tests };
}

const ALL: readonly (readonly [name: string, metric: MetricDefinition])[] = Object.entries(METRICS).map(
  ([name, metric]) => [aliasOf(name), metric],
);

/** The time of a view that is true of now. MetricFlow wants one of every measure. */
const NOW = 'read_on';

const SPINE = 'obsync_time_spine';

/** Whatever a metric is grouped by, its environment is known. */
const ENVIRONMENTS = 'environments';

/**
 * Models over the source, a semantic model on each, and the metrics, for dbt's semantic layer. They are of views:
 * datasets repeat rows for owners and tags, and a sum or an average of MetricFlow cannot count those once.
 */
function semanticLayer(): GeneratedFile[] {
  const views = [...new Set(ALL.map(([, { view }]) => view))];
  const models = [ENVIRONMENTS, ...views].map((name) =>
    sqlFile(modelOf(name), `select *, current_date as ${NOW}\nfrom {{ source('obsync', '${name}') }}`),
  );
  const yaml = {
    version: 2,
    models: [
      {
        name: SPINE,
        description: 'The days that metrics are shown over.',
        time_spine: { standard_granularity_column: 'date_day' },
        columns: [{ name: 'date_day', granularity: 'day' }],
      },
    ],
    semantic_models: [environments(), ...views.map(semanticModel)],
    metrics: ALL.map(([name, metric]) => metricOf(name, metric)),
  };
  return [...models, sqlFile(SPINE, DAYS), yamlFile('obsync_semantic.yml', yaml)];
}

/** In SQL that PostgreSQL and DuckDB read. */
const DAYS = `select cast(g.day as date) as date_day
from generate_series(cast('2020-01-01' as timestamp), cast(current_date as timestamp), interval '1 day') as g (day)`;

const sqlFile = (name: string, sql: string): GeneratedFile => textFile(`${name}.sql`, `-- ${NOTE}\n${sql}\n`);

const modelOf = (view: string): string => `obsync_${view}`;

function environments(): object {
  return {
    name: modelOf(ENVIRONMENTS),
    model: `ref('${modelOf(ENVIRONMENTS)}')`,
    entities: [{ name: 'environment', type: 'primary', expr: 'id' }],
    dimensions: [{ name: 'name', type: 'categorical' }],
  };
}

function semanticModel(view: string): object {
  const metrics = ALL.filter(([, metric]) => metric.view === view);
  const { description, columns = [] } = DICTIONARY.find(({ name }) => name === view) ?? {};
  return {
    name: modelOf(view),
    model: `ref('${modelOf(view)}')`,
    description,
    primary_entity: view,
    entities: [{ name: 'environment', type: 'foreign', expr: 'env_id' }],
    dimensions: [
      ...columns.flatMap(({ name, kind, description }) =>
        kind === 'text' ? { name, type: 'categorical', description } : [],
      ),
      ...[...new Set(metrics.map(([, metric]) => timeColumnOf(metric)))].map((column) => ({
        ...{ name: timeName(column), type: 'time', expr: column, type_params: { time_granularity: 'day' } },
      })),
    ],
    measures: metrics.flatMap(([name, metric]) => measuresOf(name, metric)),
  };
}

const timeColumnOf = ({ time = NOW }: MetricDefinition): string => time;

/** `day` is the name of a granularity. */
const timeName = (column: string): string => (column === 'day' ? 'run_day' : column);

function measuresOf(name: string, metric: MetricDefinition): object[] {
  const { aggregate: agg, of, per } = metric;
  const measure = { agg, agg_time_dimension: timeName(timeColumnOf(metric)) };
  if (per === undefined) return [{ ...measure, name: `${name}_measure`, expr: of }];
  return [
    { ...measure, name: `${name}_numerator`, expr: of, create_metric: true },
    { ...measure, name: `${name}_denominator`, expr: per, create_metric: true },
  ];
}

function metricOf(name: string, { per, description }: MetricDefinition): object {
  const metric = { name, label: name.replaceAll('_', ' '), description };
  if (per === undefined) return { ...metric, type: 'simple', type_params: { measure: `${name}_measure` } };
  const type_params = { numerator: `${name}_numerator`, denominator: `${name}_denominator` };
  return { ...metric, type: 'ratio', type_params };
}
