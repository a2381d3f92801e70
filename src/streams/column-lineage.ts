import { oneOfIndexed, parentOneOfIndexed } from './endpoint.ts';
import { type CollectionEntry, ONE_READ } from './entry.ts';
import { required } from './fields.ts';

const OF_ASSET = [{ by: 'asset_id', table: 'assets' }];

/** The columns' marks say which edges to read again (R18). The downstream column comes first in the key. */
export const columnLineage = {
  name: 'column_lineage',
  method: 'marked',
  path: ['column-lineage'],
  key: ['downstream_column_id', 'upstream_column_id'],
  fields: { upstream_column_id: required('id'), downstream_column_id: required('id') },
  table: 'column_lineage',
  staged: 'column_lineage_staged',
  parentTable: { path: ['columns'], table: 'columns' },
  scanQueries: ONE_READ,
  dependencies: ['columns'],
  idsParameter: 'column_ids',
  parents: [
    { by: 'downstream_column_id', table: 'columns', parents: OF_ASSET },
    { by: 'upstream_column_id', table: 'columns', parents: OF_ASSET },
  ],
  replacedBy: 'downstream_column_id',
  serve: {
    scope: 'assets',
    tag: 'Column lineage',
    noun: 'column lineage edge',
    // R18: edges are deleted with their column, so there is no tombstones feed.
    describe: 'Deleting a column deletes its edges: follow the tombstones of the columns, because this list has none.',
    filters: {
      column_ids: oneOfIndexed('downstream_column_id', 'Only edges into these columns'),
      asset_ids: parentOneOfIndexed('asset_id', 'Only edges whose downstream column belongs to one of these assets'),
    },
  },
} as const satisfies CollectionEntry;
