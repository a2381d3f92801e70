import { DICTIONARY } from '../../schema/dictionary.ts';
import { METRICS, type MetricDefinition } from '../../schema/metrics.ts';
import { aliasOf } from './dataset.ts';
import { type GeneratedFile, NOTE, textFile, yamlFile } from './generated-file.ts';

const ALL: readonly (readonly [name: string, metric: MetricDefinition])[] = Object.entries(METRICS).map(
  ([name, metric]) => [aliasOf(name), metric],
);

/** The time of a view that is true of now. MetricFlow wants one of every measure. */
const NOW = 'read_on';

const SPINE = 'obsync_time_spine';

/** Whatever a metric is grouped by, its environment is known. */
const ENVIRONMENTS = 'environments';

/** Models over the source, a semantic model on each, and the metrics, for dbt's semantic layer. */
export function dbtSemanticFiles(): GeneratedFile[] {
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
