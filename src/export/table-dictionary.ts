/** What the dictionary says of a table or view. */
export interface DescribedTable {
  readonly meaning: string;
  /** By the name of the column. */
  readonly columns: Readonly<Record<string, string>>;
}

/** What tables, views and columns mean, by name. Files carry it to whoever reads them. */
export type TableDictionary = Readonly<Record<string, DescribedTable>>;

export const UNDESCRIBED: DescribedTable = { meaning: '', columns: {} };
