import type { ColumnKind } from '../../schema/column-types.ts';
import { DICTIONARY } from '../../schema/dictionary.ts';
import { checkOptions } from '../settings/check-options.ts';
import { closestName } from '../settings/closest-name.ts';
import { OptionError } from '../settings/option-error.ts';

export interface DescribeOptions {
  /** Only these tables and views; all by default. */
  readonly table?: readonly string[];
}

export interface ColumnDescription {
  readonly name: string;
  /** The type that the table declares; null for a column of a view. */
  readonly type: string | null;
  readonly meaning: string;
}

export interface TableDescription {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly meaning: string;
  readonly columns: readonly ColumnDescription[];
}

/** What the dictionary says of a mirror. */
export interface MirrorDescription {
  readonly tables: readonly TableDescription[];
}

/** The type of each kind of column in SQLite. */
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
 * What the tables and views of a mirror and their columns mean. Needs no mirror.
 * @throws OptionError for a table there is not
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
  return { tables: wanted.length === 0 ? described : described.filter(({ name }) => wanted.includes(name)) };
}
