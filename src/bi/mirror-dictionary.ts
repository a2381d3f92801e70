import type { ColumnType } from '../export/relation.ts';

/** A column of the mirror: what it holds, and what it means. */
export interface DictionaryColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly meaning: string;
}

/** A table or view of the mirror. */
export interface DictionaryTable {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly meaning: string;
  /** The columns that tell rows apart; none for a view whose rows may be equal. */
  readonly key: readonly string[];
  readonly columns: readonly DictionaryColumn[];
}

/** A number that dashboards show, as an expression over one view. */
export interface MetricDefinition {
  readonly name: string;
  readonly view: string;
  readonly expression: string;
  readonly meaning: string;
}

/** What the page of tables and views says. */
export interface MirrorDictionary {
  readonly tables: readonly DictionaryTable[];
  readonly metrics: readonly MetricDefinition[];
}

/** A name without spaces: `mean time to resolve` is `mean_time_to_resolve`. */
export function identifierOf(name: string): string {
  return name.replaceAll(/\W+/g, '_');
}
