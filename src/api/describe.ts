import type { TableDictionary } from '../export/table-dictionary.ts';
import { checkOptions } from '../settings/check-options.ts';
import { closestName } from '../settings/closest-name.ts';
import { OptionError } from '../settings/option-error.ts';
import { readDictionary, type TableDescription } from './dictionary.ts';

export interface DescribeOptions {
  /** Only these tables and views; all by default. */
  readonly table?: readonly string[];
}

/** What the dictionary says of a mirror. */
export interface MirrorDescription {
  readonly tables: readonly TableDescription[];
}

/**
 * What the tables and views of a mirror and their columns mean. Needs no mirror.
 * @throws OptionError for a table there is not
 */
export async function describe(options: DescribeOptions = {}): Promise<MirrorDescription> {
  checkOptions(options);
  const described = readDictionary().tables.map(({ key: _, ...table }): TableDescription => table);
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

/** The same for an export, whose files carry it. */
export function tableDictionary(): TableDictionary {
  const described = readDictionary().tables;
  return Object.fromEntries(
    described.map(({ name, meaning, columns }) => [
      name,
      { meaning, columns: Object.fromEntries(columns.map((column) => [column.name, column.meaning])) },
    ]),
  );
}
