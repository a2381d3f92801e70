import { type CollectionEntry, ONE_READ } from './entry.ts';
import { COMMON_ASSET_FIELDS, required, TABLE_FIELDS } from './fields.ts';

/** The fields that only tables and views have. They are written into rows that the assets stream made. */
export const tableAssets = {
  name: 'table_assets',
  method: 'marked',
  path: ['assets', 'tables'],
  key: ['id'],
  fields: {
    ...COMMON_ASSET_FIELDS,
    data_platform: required('text'),
    db_name: required('text'),
    schema_name: required('text'),
    table_name: required('text'),
    materialization: required('text'),
  },
  table: 'assets',
  writes: TABLE_FIELDS,
  subtype: { field: 'kind', is: 'table' },
  parentTable: { path: ['assets'], table: 'assets' },
  scanQueries: ONE_READ,
  dependencies: ['assets'],
  idsParameter: 'ids',
} as const satisfies CollectionEntry;
