import { ASSET_ENDPOINT, ASSET_FILTERS } from './asset-endpoint.ts';
import { oneOf } from './endpoint.ts';
import { type CollectionEntry, ONE_READ } from './entry.ts';
import { BI_FIELDS, COMMON_ASSET_FIELDS, optional, required } from './fields.ts';

/** The fields that only BI assets such as dashboards have. They are written to rows created by the assets stream. */
export const biAssets = {
  name: 'bi_assets',
  method: 'marked',
  path: ['assets', 'bi'],
  key: ['id'],
  fields: {
    ...COMMON_ASSET_FIELDS,
    bi_platform: required('text'),
    bi_type: required('text'),
    url: optional('text'),
  },
  table: 'assets',
  writes: BI_FIELDS,
  subtype: { field: 'kind', is: 'bi' },
  parentTable: { path: ['assets'], table: 'assets' },
  scanQueries: ONE_READ,
  dependencies: ['assets'],
  idsParameter: 'ids',
  serve: {
    ...ASSET_ENDPOINT,
    noun: 'BI asset',
    filters: { ...ASSET_FILTERS, bi_platforms: oneOf('bi_platform', 'Such as `looker`, `tableau`') },
  },
} as const satisfies CollectionEntry;
