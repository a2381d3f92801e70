import { ASSET_ENDPOINT, ASSET_FILTERS } from './asset-endpoint.ts';
import { type CollectionEntry, ONE_READ } from './entry.ts';
import { BI_FIELDS, COMMON_ASSET_FIELDS, TABLE_FIELDS } from './fields.ts';

/** Every asset of every kind, with the fields that all kinds share. This stream alone decides which assets exist. */
export const assets = {
  name: 'assets',
  method: 'feed',
  path: ['assets'],
  key: ['id'],
  fields: COMMON_ASSET_FIELDS,
  table: 'assets',
  subtypeColumns: { table: TABLE_FIELDS, bi: BI_FIELDS },
  scanQueries: ONE_READ,
  dependencies: [],
  scored: true,
  // What is out of sight takes its scores with it, which are read only once an hour (R13, R22).
  cascade: [
    { table: 'asset_health_scores', by: ['asset_id'], deletion: 'absent' },
    { table: 'asset_health_score_dimensions', by: ['asset_id'], deletion: 'absent' },
  ],
  idsParameter: 'ids',
  serve: {
    ...ASSET_ENDPOINT,
    noun: 'asset',
    describe: 'Assets of every kind, with the fields common to all.',
    filters: ASSET_FILTERS,
  },
} as const satisfies CollectionEntry;
