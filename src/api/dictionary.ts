import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import type { MetricDefinition } from '../bi/mirror-dictionary.ts';
import { type DocumentSection, rowsOf, sectionsOf } from './markdown.ts';

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

/** The same with the columns that tell its rows apart. */
interface KeyedDescription extends TableDescription {
  readonly key: readonly string[];
}

export interface DictionaryPage {
  readonly tables: readonly KeyedDescription[];
  readonly metrics: readonly MetricDefinition[];
}

/** The folder of the package. */
export const PACKAGE = dirname(findPackageJSON(import.meta.url) ?? '');

/** The dictionary is part of the package: it is the page that people read, so that both say the same. */
const PAGE = join(PACKAGE, 'docs', 'tables-and-views.md');

export function readDictionary(): DictionaryPage {
  const page = { text: readFileSync(PAGE, 'utf8') };
  const sections = sectionsOf(page, 2);
  const views = new Set(
    sections
      .filter(({ title }) => title === 'Views')
      .flatMap((section) => sectionsOf(section, 3).map(({ title }) => title)),
  );
  return {
    tables: sectionsOf(page, 3).flatMap((section) => {
      const described = describeTable(section, views.has(section.title) ? 'view' : 'table');
      return described.columns.length === 0 ? [] : [described];
    }),
    metrics: sections.filter(({ title }) => title === 'Metrics').flatMap((section) => rowsOf(section).map(metricIn)),
  };
}

function describeTable(section: DocumentSection, kind: TableDescription['kind']): KeyedDescription {
  const columns = rowsOf(section).map((cells): ColumnDescription => {
    const [name = '', ...rest] = cells;
    return {
      name: withoutTicks(name),
      type: rest.length > 1 ? (rest[0] ?? null) : null,
      meaning: (rest.at(-1) ?? '').replaceAll('\\|', '|'),
    };
  });
  const [paragraph = ''] = section.text.trim().split(/\n\s*\n/);
  const [, key] = /^Key: (.*)\.$/m.exec(section.text) ?? [];
  return {
    name: section.title,
    kind,
    meaning: paragraph.replaceAll(/\s+/g, ' '),
    columns,
    key: key === undefined ? [] : key.split(', ').map(withoutTicks),
  };
}

function metricIn([name = '', view = '', expression = '', meaning = '']: readonly string[]): MetricDefinition {
  return { name, view: withoutTicks(view), expression: withoutTicks(expression), meaning };
}

const withoutTicks = (code: string): string => code.replaceAll('`', '');
