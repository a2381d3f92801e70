import type { Database } from 'better-sqlite3';
import { CHARTS, type Chart } from '../../src/bi/charts.ts';
import { DATASETS } from '../../src/bi/datasets.ts';
import { SQLITE } from '../../src/bi/dialect.ts';
import { chartSql } from '../../src/bi/query.ts';

/** A filter of the dashboard, as Superset's pages add it to the query of a chart. */
interface SupersetFilter {
  readonly col: string;
  readonly op: 'IN' | 'TEMPORAL_RANGE';
  readonly val: string | readonly string[];
}

/** What a chart asks with filters, and the answer in SQL. */
export interface SupersetQuestion {
  readonly chart: string;
  readonly filters: readonly SupersetFilter[];
  readonly names: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

interface Choice {
  readonly env?: string;
  readonly owner?: string;
  /** From and to, in UTC seconds. */
  readonly range?: readonly [from: string, to: string];
}

/** Every chart, for each choice that reaches it. */
export function supersetQuestions(mirror: Database, choices: readonly Choice[]): SupersetQuestion[] {
  return Object.values<Chart>(CHARTS).flatMap((chart) =>
    choices.filter((choice) => isFor(chart, choice)).map((choice) => questionOf(mirror, chart, choice)),
  );
}

function isFor(chart: Chart, { env, owner, range }: Choice): boolean {
  const { select } = DATASETS[chart.dataset];
  return (
    (env === undefined || 'env_name' in select) &&
    (owner === undefined || 'owner' in select) &&
    (range === undefined || chart.time !== null)
  );
}

function questionOf(mirror: Database, chart: Chart, { env, owner, range }: Choice): SupersetQuestion {
  const { time } = chart;
  const filters: SupersetFilter[] = [
    ...(env === undefined ? [] : [{ col: 'env_name', op: 'IN', val: [env] } as const]),
    ...(owner === undefined ? [] : [{ col: 'owner', op: 'IN', val: [owner] } as const]),
    ...(time === null || range === undefined
      ? []
      : [{ col: time, op: 'TEMPORAL_RANGE', val: range.join(' : ') } as const]),
  ];
  const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  const conditions = [
    ...(env === undefined ? [] : [`env_name = ${quoted(env)}`]),
    ...(owner === undefined ? [] : [`owner = ${quoted(owner)}`]),
    ...(time === null ? [] : timeConditions(chart, time, range)),
  ];
  return {
    chart: chart.title,
    filters,
    names: [...chart.columns, ...chart.metrics],
    rows: mirror
      .prepare(chartSql(chart, SQLITE, conditions))
      .raw()
      .all() as unknown[][],
  };
}

/** Without a range, charts with a number of days show those up to now. */
function timeConditions({ days }: Chart, time: string, range: Choice['range']): string[] {
  const at = `datetime(${time})`;
  if (range !== undefined) return [`${at} >= datetime('${range[0]}')`, `${at} < datetime('${range[1]}')`];
  return days === undefined ? [] : [`${at} >= date('now', '-${days - 1} days')`, `${at} < datetime('now')`];
}
