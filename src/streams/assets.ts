import { type CatalogueEntry, ONE_READ } from './entry.ts';
import { BI_FIELDS, COMMON_ASSET_FIELDS, TABLE_FIELDS } from './fields.ts';

/** Every asset of every kind, with the fields that all kinds share. Only this stream decides which assets exist. */
export const assets: CatalogueEntry = {
  name: 'assets',
  method: 'feed',
  path: ['assets'],
  key: ['id'],
  fields: COMMON_ASSET_FIELDS,
  table: 'assets',
  subtypeColumns: { table: TABLE_FIELDS, bi: BI_FIELDS },
  scanQueries: ONE_READ,
  dependencies: [],
  idsParameter: 'ids',
  parents: [],
  marks: [
    { stream: 'table_assets', id: 'id', on: 'shown', where: { field: 'kind', is: 'table' } },
    { stream: 'bi_assets', id: 'id', on: 'shown', where: { field: 'kind', is: 'bi' } },
    { stream: 'columns', id: 'id', on: 'moved' },
    { stream: 'tests', id: 'id', on: 'moved' },
  ],
};
