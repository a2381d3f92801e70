import { columns, columnLineageStaged as staged, columnLineage as table } from '../../schema/assets.ts';
import { type Entry, ONE_READ } from './entry.ts';
import { required } from './fields.ts';

/** Follows the columns: they say which edges are read again (R18). The downstream column comes first in the key. */
export const columnLineage: Entry = {
  name: 'column_lineage',
  method: 'marked',
  path: ['column-lineage'],
  key: ['downstream_column_id', 'upstream_column_id'],
  fields: { upstream_column_id: required('text'), downstream_column_id: required('text') },
  table,
  staged,
  leader: columns,
  variants: ONE_READ,
  after: ['columns'],
  idsParameter: 'column_ids',
  owners: [
    { by: 'downstream_column_id', table: columns },
    { by: 'upstream_column_id', table: columns },
  ],
  marks: [],
};
