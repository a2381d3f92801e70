import type { CollectionName } from '../streams/catalogue.ts';

/** What the description calls a collection: the group of its operations, one of its items, and many. */
interface CollectionNames {
  readonly tag: string;
  readonly one: string;
  readonly many: string;
}

/** The words of the service, so that a client generated from the one description fits the other. */
export const NAMES: Readonly<Record<CollectionName, CollectionNames>> = {
  assets: { tag: 'Assets', one: 'asset', many: 'assets' },
  table_assets: { tag: 'Assets', one: 'table asset', many: 'table assets' },
  bi_assets: { tag: 'Assets', one: 'BI asset', many: 'BI assets' },
  columns: { tag: 'Columns', one: 'column', many: 'columns' },
  tests: { tag: 'Tests', one: 'test', many: 'tests' },
  asset_lineage: { tag: 'Asset lineage', one: 'asset lineage edge', many: 'asset lineage edges' },
  column_lineage: { tag: 'Column lineage', one: 'column lineage edge', many: 'column lineage edges' },
  latest_test_executions: {
    tag: 'Latest test executions',
    one: 'latest test execution',
    many: 'latest test executions',
  },
  test_executions: { tag: 'Test executions', one: 'test execution', many: 'test executions' },
  asset_health_scores: { tag: 'Asset health scores', one: 'asset health score', many: 'asset health scores' },
};

/** `a` or `an`, and the word. */
export const withArticle = (words: string): string => `${/^[aeiou]/i.test(words) ? 'an' : 'a'} ${words}`;

/** `BI assets` as `BiAssets`. */
export const pascal = (words: string): string =>
  words
    .split(' ')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase())
    .join('');
