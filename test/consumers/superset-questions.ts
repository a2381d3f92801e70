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

/** The values that a reader chooses from. */
type Values = Partial<Record<'env_name' | 'owner' | 'tag' | 'schema_name', string>>;

interface Choice extends Values {
  /** From and to, in UTC seconds. */
  readonly range?: readonly [from: string, to: string];
}

/** Every chart, for each choice that reaches it. */
export function supersetQuestions(mirror: Database, choices: readonly Choice[]): SupersetQuestion[] {
  return Object.values<Chart>(CHARTS).flatMap((chart) =>
    choices.filter((choice) => isFor(chart, choice)).map((choice) => questionOf(mirror, chart, choice)),
  );
}

function isFor(chart: Chart, { range, ...values }: Choice): boolean {
  const { select } = DATASETS[chart.dataset];
  return Object.keys(values).every((column) => column in select) && (range === undefined || chart.time !== null);
}

function questionOf(mirror: Database, chart: Chart, { range, ...values }: Choice): SupersetQuestion {
  const { time } = chart;
  const chosen = Object.entries(values);
  const filters: SupersetFilter[] = [
    ...chosen.map(([col, value]) => ({ col, op: 'IN', val: [value] }) as const),
    ...(time === null || range === undefined
      ? []
      : [{ col: time, op: 'TEMPORAL_RANGE', val: range.join(' : ') } as const]),
  ];
  const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  const conditions = [
    ...chosen.map(([column, value]) => `${column} = ${quoted(value)}`),
    ...(time === null ? [] : timeConditions(chart, time, range)),
  ];
  return {
    chart: chart.title,
    filters,
    names: [...chart.columns, ...chart.metrics],
    rows: mirror
      // Superset draws bars in a table.
      .prepare(chartSql(chart.kind === 'bar' ? { ...chart, kind: 'table' } : chart, SQLITE, conditions))
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
