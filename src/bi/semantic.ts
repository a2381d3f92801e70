import { type GeneratedFile, yamlFile } from './generated-file.ts';
import {
  type DictionaryColumn,
  type DictionaryTable,
  identifierOf,
  type MetricDefinition,
  type MirrorDictionary,
} from './mirror-dictionary.ts';

/** The version of the format of Apache Ossie, formerly Open Semantic Interchange. */
const VERSION = '0.1.1';

/** The database and schema that a source names; they are changed to where the mirror is. */
const PLACE = 'obsync.main';

/** Where an id leads that the dictionary explains as `assets.id` and the like: to live rows. */
const TARGETS: Readonly<Record<string, string>> = {
  environments: 'environments',
  assets: 'live_assets',
  tests: 'live_tests',
};

/** The views and the environments, how they hang together, and the metrics. */
export function semanticFiles({ tables, metrics }: MirrorDictionary): GeneratedFile[] {
  const shown = tables.filter(({ name, kind }) => kind === 'view' || name === 'environments');
  const model = {
    name: 'obsync',
    description:
      'Data quality as a data-observability service sees it: assets, lineage, tests, results, incidents and health.',
    ai_context: {
      instructions:
        'Times are UTC. Scores and rates are parts of 1. Filter by env_id or env_name to stay within one environment. ' +
        'An id may name an object that is not visible: join on the left.',
    },
    datasets: shown.map(datasetOf),
    relationships: shown.flatMap((table) => relationshipsOf(table, shown)),
    metrics: metrics.map((metric) => metricOf(metric, shown)),
  };
  return [yamlFile('obsync.ossie.yaml', { version: VERSION, semantic_model: [model] })];
}

function datasetOf({ name, key, meaning, columns }: DictionaryTable): object {
  return {
    name,
    source: `${PLACE}.${name}`,
    ...(key.length === 0 ? {} : { primary_key: key }),
    description: meaning,
    fields: columns.map(fieldOf),
  };
}

function fieldOf({ name, type, meaning }: DictionaryColumn): object {
  const isNumber = type === 'integer' || type === 'real';
  const dimension = { is_time: type === 'timestamp' || type === 'date' };
  return { name, expression: expressionOf(name), ...(isNumber ? {} : { dimension }), description: meaning };
}

function expressionOf(expression: string): object {
  return { dialects: [{ dialect: 'ANSI_SQL', expression }] };
}

function relationshipsOf(table: DictionaryTable, shown: readonly DictionaryTable[]): object[] {
  return table.columns.flatMap(({ name, meaning }) => {
    const [, named = ''] = /^the \w+, `(\w+)\.id`$/.exec(meaning) ?? [];
    const target = shown.find((each) => each.name === TARGETS[named]);
    if (target === undefined) return [];
    const columns = name === 'env_id' ? [name] : ['env_id', name];
    return [
      {
        name: `${table.name}_${name}_to_${target.name}`,
        from: table.name,
        to: target.name,
        from_columns: columns,
        to_columns: target.key,
      },
    ];
  });
}

function metricOf({ name, view, expression, meaning }: MetricDefinition, shown: readonly DictionaryTable[]): object {
  const columns = shown.find((each) => each.name === view)?.columns ?? [];
  const qualified = expression.replaceAll(/[a-z_]\w*/g, (word) =>
    columns.some((column) => column.name === word) ? `${view}.${word}` : word,
  );
  return { name: identifierOf(name), expression: expressionOf(qualified), description: meaning };
}
