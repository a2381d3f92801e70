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
  idsParameter: 'ids',
  serve: {
    ...ASSET_ENDPOINT,
    noun: 'asset',
    describe: 'Assets of every kind, with the fields common to all.',
    filters: ASSET_FILTERS,
  },
} as const satisfies CollectionEntry;
