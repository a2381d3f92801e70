import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import type { TableDictionary } from '../export/table-dictionary.ts';
import { checkOptions } from './check-options.ts';
import { type DocumentSection, rowsOf, sectionsOf } from './markdown.ts';
import { nearest } from './nearest.ts';
import { OptionError } from './option-error.ts';

export interface DescribeOptions {
  /** Only these tables and views; all by default. */
  readonly table?: readonly string[];
}

/** What the dictionary says of one column. */
export interface ColumnDescription {
  readonly name: string;
  /** The type that the table declares; null for a column of a view. */
  readonly type: string | null;
  readonly meaning: string;
}

/** What the dictionary says of one table or view. */
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

/** The dictionary is part of the package: it is the page that people read, so that both say the same. */
const DICTIONARY = join(dirname(findPackageJSON(import.meta.url) ?? ''), 'docs', 'tables-and-views.md');

/** What the tables and views of a mirror and their columns mean. Needs no mirror. @throws OptionError for a table there is not */
export async function describe(options: DescribeOptions = {}): Promise<MirrorDescription> {
  checkOptions(options);
  const described = readDictionary(readFileSync(DICTIONARY, 'utf8'));
  const { table: wanted = [] } = options;
  const names = described.map(({ name }) => name);
  const unknown = wanted.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const near = nearest(unknown, names);
    const advice = near === null ? 'run `obsync describe` to see their names' : `did you mean ${near}?`;
    throw new OptionError('table', `there is no table or view ${unknown}: ${advice}`);
  }
  return { tables: wanted.length === 0 ? described : described.filter(({ name }) => wanted.includes(name)) };
}

/** The same for an export, whose files carry it. */
export function tableDictionary(): TableDictionary {
  const described = readDictionary(readFileSync(DICTIONARY, 'utf8'));
  return Object.fromEntries(
    described.map(({ name, meaning, columns }) => [
      name,
      { meaning, columns: Object.fromEntries(columns.map((column) => [column.name, column.meaning])) },
    ]),
  );
}

function readDictionary(text: string): TableDescription[] {
  const views = new Set(
    sectionsOf({ text }, 2)
      .filter(({ title }) => title === 'Views')
      .flatMap((section) => sectionsOf(section, 3).map(({ title }) => title)),
  );
  return sectionsOf({ text }, 3).flatMap((section) => {
    const described = describeTable(section, views.has(section.title) ? 'view' : 'table');
    return described.columns.length === 0 ? [] : [described];
  });
}

function describeTable(section: DocumentSection, kind: TableDescription['kind']): TableDescription {
  const columns = rowsOf(section).map((cells): ColumnDescription => {
    const [name = '', ...rest] = cells;
    return {
      name: name.replaceAll('`', ''),
      type: rest.length > 1 ? (rest[0] ?? null) : null,
      meaning: (rest.at(-1) ?? '').replaceAll('\\|', '|'),
    };
  });
  const [paragraph = ''] = section.text.trim().split(/\n\s*\n/);
  return { name: section.title, kind, meaning: paragraph.replaceAll(/\s+/g, ' '), columns };
}
