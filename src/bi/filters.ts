import type { Chart } from './charts.ts';
import { datasetSql } from './dataset.ts';
import { DATASETS } from './datasets.ts';
import type { BiDialect } from './dialect.ts';

/**
 * What a reader can filter a dashboard by, besides the time. A filter applies to each chart whose dataset has the
 * column; its choices come from `dataset`.
 */
export const FILTERS = [
  { name: 'environment', label: 'Environment', column: 'env_name', dataset: 'environments', isMultiple: true },
  // With two owners or tags chosen, what they share with others would count in part only.
  { name: 'owner', label: 'Owner', column: 'owner', dataset: 'owners', isMultiple: false },
  { name: 'tag', label: 'Tag', column: 'tag', dataset: 'tags', isMultiple: false },
  { name: 'schema', label: 'Schema', column: 'schema_name', dataset: 'schemas', isMultiple: true },
] as const;

export type DashboardFilter = (typeof FILTERS)[number];

/** The filter that a click on a bar sets. */
export const filterOf = ({ kind, columns }: Chart): DashboardFilter | undefined =>
  kind === 'bar' ? FILTERS.find(({ column }) => column === columns[0]) : undefined;

export const filtersOf = ({ dataset }: Chart): readonly DashboardFilter[] =>
  FILTERS.filter(({ column }) => column in DATASETS[dataset].select);

export const choicesSql = ({ column, dataset }: DashboardFilter, dialect: BiDialect): string =>
  `select distinct ${column}\nfrom (\n${datasetSql(DATASETS[dataset], dialect)}\n) d\norder by 1`;
