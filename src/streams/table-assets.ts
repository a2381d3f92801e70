import { ASSET_ENDPOINT, ASSET_FILTERS } from './asset-endpoint.ts';
import { oneOf } from './endpoint.ts';
import { type CollectionEntry, ONE_READ } from './entry.ts';
import { COMMON_ASSET_FIELDS, required, TABLE_FIELDS } from './fields.ts';

/** The fields that only tables and views have. They are written to rows created by the assets stream. */
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
  serve: {
    ...ASSET_ENDPOINT,
    noun: 'table asset',
    filters: {
      ...ASSET_FILTERS,
      db_names: oneOf('db_name', 'Only those of these databases'),
      schema_names: oneOf('schema_name', 'Only those of these schemas'),
      materializations: oneOf('materialization', 'Such as `table`, `view`, `incremental`'),
    },
  },
} as const satisfies CollectionEntry;
