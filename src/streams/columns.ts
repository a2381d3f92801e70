import { oneOf, oneOfIndexed } from './endpoint.ts';
import { type CollectionEntry, ONE_READ } from './entry.ts';
import { optional, required } from './fields.ts';

export const columns = {
  name: 'columns',
  method: 'feed',
  path: ['columns'],
  key: ['id'],
  fields: {
    id: required('id'),
    asset_id: required('id'),
    name: required('text'),
    data_type: optional('text'),
    synced_at: optional('instant'),
  },
  table: 'columns',
  scanQueries: ONE_READ,
  dependencies: ['assets'],
  idsParameter: 'ids',
  parent: { by: 'asset_id', table: 'assets', path: ['assets'], parameter: 'asset_ids' },
  cascade: [{ table: 'column_lineage', by: ['downstream_column_id', 'upstream_column_id'] }],
  cascadeMarks: {
    table: 'column_lineage',
    by: 'upstream_column_id',
    stream: 'column_lineage',
    id: 'downstream_column_id',
  },
  serve: {
    scope: 'assets',
    noun: 'column',
    filters: {
      ids: oneOfIndexed('id', 'Only columns with these ids'),
      asset_ids: oneOfIndexed('asset_id', 'Only columns of these assets'),
      data_types: oneOf('data_type', 'Only columns of these data types'),
    },
    get: { parameter: 'column_id', field: 'id' },
  },
} as const satisfies CollectionEntry;
