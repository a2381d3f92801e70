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

/** Every collection, in a run's preferred order. A new one is one more entry. */
const COLLECTIONS = [
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
] as const;

/** The names of the collections. The sync accepts any name: it knows only the streams passed to it. */
export type CollectionName = (typeof COLLECTIONS)[number]['name'];

export const CATALOGUE: readonly CatalogueEntry<CollectionName>[] = buildCatalogue<CollectionName>(COLLECTIONS);

/** The names of those read by feeds. */
export type FeedName = Extract<(typeof COLLECTIONS)[number], { readonly method: 'feed' }>['name'];

export const STREAM_NAMES: readonly CollectionName[] = COLLECTIONS.map(({ name }) => name);
