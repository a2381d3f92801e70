import { assetHealthScores } from './asset-health-scores.ts';
import { assetLineage } from './asset-lineage.ts';
import { assets } from './assets.ts';
import { biAssets } from './bi-assets.ts';
import { buildCatalogue } from './build-catalogue.ts';
import { columnLineage } from './column-lineage.ts';
import { columns } from './columns.ts';
import type { CatalogueEntry } from './entry.ts';
import { latestTestExecutions } from './latest-test-executions.ts';
import { tableAssets } from './table-assets.ts';
import { testExecutions } from './test-executions.ts';
import { tests } from './tests.ts';

/** Every stream, in the order in which a run prefers to read them. A new collection is one more entry here. */
export const CATALOGUE: readonly CatalogueEntry[] = buildCatalogue([
  assets,
  tableAssets,
  biAssets,
  columns,
  tests,
  assetLineage,
  columnLineage,
  latestTestExecutions,
  assetHealthScores,
  testExecutions,
]);
