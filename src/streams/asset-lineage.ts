import { type CollectionEntry, ONE_READ } from './entry.ts';
import { required } from './fields.ts';

export const assetLineage = {
  name: 'asset_lineage',
  method: 'snapshot',
  path: ['asset-lineage'],
  key: ['upstream_asset_id', 'downstream_asset_id'],
  fields: { upstream_asset_id: required('id'), downstream_asset_id: required('id') },
  table: 'asset_lineage',
  staged: 'asset_lineage_staged',
  scanQueries: ONE_READ,
  dependencies: ['assets'],
  idsParameter: 'asset_ids',
  parents: [
    { by: 'upstream_asset_id', table: 'assets' },
    { by: 'downstream_asset_id', table: 'assets' },
  ],
  replacedBy: 'downstream_asset_id',
  serve: {
    scope: 'assets',
    tag: 'Asset lineage',
    noun: 'asset lineage edge',
    filters: {
      asset_ids: {
        by: 'ends',
        fields: ['upstream_asset_id', 'downstream_asset_id'],
        describe: 'Only edges that touch one of these assets, at either end',
      },
    },
    shownWhile: [
      { by: 'upstream_asset_id', table: 'assets', is: 'live' },
      { by: 'downstream_asset_id', table: 'assets', is: 'live' },
    ],
  },
} as const satisfies CollectionEntry;
