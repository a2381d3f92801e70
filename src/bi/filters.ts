import { type Dataset, type DatasetId, datasetSql } from './dataset.ts';
import type { ColumnName } from './dataset-columns.ts';
import { DATASETS } from './datasets.ts';
import type { BiDialect } from './dialect.ts';

/** What a reader can filter a dashboard by, besides the time. It applies to every chart whose dataset has the column. */
export interface DashboardFilter {
  readonly name: string;
  readonly label: string;
  readonly column: ColumnName;
  /** Where the choices come from. */
  readonly dataset: DatasetId;
  readonly isMultiple: boolean;
}

export const FILTERS: readonly DashboardFilter[] = [
  { name: 'environment', label: 'Environment', column: 'env_name', dataset: 'environments', isMultiple: true },
  // With two owners chosen, what they share with others would count in part only.
  { name: 'owner', label: 'Owner', column: 'owner', dataset: 'owners', isMultiple: false },
];

export const filtersOf = ({ select }: Dataset): readonly DashboardFilter[] =>
  FILTERS.filter(({ column }) => column in select);

export function choicesSql({ column, dataset }: DashboardFilter, dialect: BiDialect): string {
  const rows = datasetSql(DATASETS.find(({ id }) => id === dataset) as Dataset, dialect);
  return `select distinct ${column}\nfrom (\n${rows}\n) d\norder by 1`;
}
