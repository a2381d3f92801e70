import { DICTIONARY } from '../../schema/dictionary.ts';
import { METRICS, type MetricDefinition } from '../../schema/metrics.ts';
import type { DescribedColumn, DescribedTable } from '../../schema/table.ts';
import { aliasOf } from './dataset.ts';
import { type GeneratedFile, yamlFile } from './generated-file.ts';
import { mirrorSchema, type ToolPlaces } from './tool-places.ts';

/** The version of the Apache Ossie format, formerly Open Semantic Interchange. */
const VERSION = '0.2.0.dev0';

const SHOWN = DICTIONARY.filter(({ name, kind }) => kind === 'view' || name === 'environments');

/**
 * The views and environments, their relationships, and the metrics. Not the datasets: those repeat a row for each owner
 * and tag, so their rows have no key and can't be summed, and they cover only the views that dashboards show.
 */
export function semanticFiles({ mirror }: ToolPlaces): GeneratedFile[] {
  const schema = mirrorSchema(mirror);
  const model = {
    version: VERSION,
    name: 'obsync',
    description:
      'Data quality as a data-observability service sees it: assets, lineage, tests, results, incidents and health.',
    ai_context: {
      instructions:
        'Times are UTC. Scores and rates are fractions of 1. Filter by env_id or env_name to stay within one environment. ' +
        'An id may refer to an object that is not visible: use left joins.',
    },
    datasets: SHOWN.map((table) => datasetOf(table, schema)),
    relationships: SHOWN.flatMap(relationshipsOf),
    metrics: Object.entries(METRICS).map(([name, metric]) => metricOf(name, metric)),
  };
  return [yamlFile('obsync.ossie.yaml', model)];
}

function datasetOf({ name, key, description, columns }: DescribedTable, schema: string): object {
  return {
    name,
    source: `${schema}.${name}`,
    primary_key: key.length === 0 ? undefined : key,
    description,
    fields: columns.map(fieldOf),
  };
}

function fieldOf({ name, kind, description }: DescribedColumn): object {
  const isNumber = kind === 'integer' || kind === 'real';
  const dimension = isNumber ? undefined : { is_time: kind === 'time' || kind === 'day' };
  return { name, expression: inAnsiSql(name), dimension, description };
}

const inAnsiSql = (expression: string): object => ({ dialects: [{ dialect: 'ANSI_SQL', expression }] });

function relationshipsOf(table: DescribedTable): object[] {
  return table.columns.flatMap(({ name, description }) => {
    // An id that the dictionary describes as `assets.id` and the like refers to a live row.
    const [, named] = /^the \w+, `(\w+)\.id`$/.exec(description) ?? [];
    const target = SHOWN.find((each) => each.name === named || each.name === `live_${named}`);
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

function metricOf(name: string, { view, expression, description }: MetricDefinition): object {
  const columns = SHOWN.find((each) => each.name === view)?.columns ?? [];
  const qualified = expression.replaceAll(/[a-z_]\w*/g, (word) =>
    columns.some((column) => column.name === word) ? `${view}.${word}` : word,
  );
  return { name: aliasOf(name), expression: inAnsiSql(qualified), description };
}
