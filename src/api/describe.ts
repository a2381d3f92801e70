import type { ColumnKind } from '../../schema/column-types.ts';
import { DICTIONARY } from '../../schema/dictionary.ts';
import { METRICS } from '../../schema/metrics.ts';
import { closestName } from '../core/closest-name.ts';
import { checkOptions } from '../settings/check-options.ts';
import { OptionError } from '../settings/option-error.ts';

export interface DescribeOptions {
  /** Only these tables and views; all by default. */
  readonly table?: readonly string[];
}

export interface ColumnDescription {
  readonly name: string;
  /** The declared type; null for a column of a view. */
  readonly type: string | null;
  readonly meaning: string;
}

export interface TableDescription {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly meaning: string;
  readonly columns: readonly ColumnDescription[];
}

/** A number that dashboards show, computed from one view. */
export interface MetricDescription {
  readonly name: string;
  readonly view: string;
  /** In SQL, to be grouped by any columns of the view. */
  readonly expression: string;
  readonly meaning: string;
}

/** The documentation of a mirror's tables and views, and of the metrics over them. */
export interface MirrorDescription {
  readonly tables: readonly TableDescription[];
  readonly metrics: readonly MetricDescription[];
}

const STORED: Readonly<Record<ColumnKind, string>> = {
  text: 'TEXT',
  integer: 'INTEGER',
  real: 'REAL',
  time: 'TEXT',
  day: 'TEXT',
  flag: 'INTEGER',
  json: 'TEXT',
};

/**
 * Describes the tables and views of a mirror, their columns, and the metrics over them. Needs no mirror.
 * @throws OptionError if there is no such table
 */
export async function describe(options: DescribeOptions = {}): Promise<MirrorDescription> {
  checkOptions(options);
  const described = DICTIONARY.map(
    ({ name, kind, description, columns }): TableDescription => ({
      name,
      kind,
      meaning: description,
      columns: columns.map((column) => ({
        name: column.name,
        type: kind === 'table' ? STORED[column.kind] : null,
        meaning: column.description,
      })),
    }),
  );
  const { table: wanted = [] } = options;
  const names = described.map(({ name }) => name);
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const near = closestName(unknown, names);
    const advice = near === null ? 'run `obsync describe` to see their names' : `did you mean ${near}?`;
    throw new OptionError('table', `there is no table or view ${unknown}: ${advice}`);
  }
  const isWanted = (name: string): boolean => wanted.length === 0 || wanted.includes(name);
  const metrics = Object.entries(METRICS).map(([name, { view, expression, description: meaning }]) => ({
    ...{ name, view, expression, meaning },
  }));
  return {
    tables: described.filter(({ name }) => isWanted(name)),
    metrics: metrics.filter(({ view }) => isWanted(view)),
  };
}
