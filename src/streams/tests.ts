import { assets } from '../../schema/assets.ts';
import { tests as table } from '../../schema/tests.ts';
import { ENABLED_AND_DISABLED, type Entry } from './entry.ts';
import { list, optional, required } from './fields.ts';

export const tests: Entry = {
  name: 'tests',
  method: 'feed',
  path: ['tests'],
  key: ['id'],
  fields: {
    id: required('text'),
    name: required('text'),
    test_type: required('text'),
    definition_type: required('text'),
    source_type: required('text'),
    severity: required('text'),
    disabled: required('boolean'),
    asset_id: optional('text'),
    column_name: optional('text'),
    config: optional('json'),
    owners: list,
    tags: list,
    description: optional('text'),
    path: optional('text'),
    project: optional('text'),
    updated_at: optional('instant'),
    synced_at: optional('instant'),
  },
  table,
  variants: ENABLED_AND_DISABLED,
  after: ['assets'],
  idsParameter: 'ids',
  owners: [{ by: 'asset_id', table: assets, parameter: 'asset_ids' }],
  marks: [],
  newsFor: 'test_executions',
  mayBeUnavailable: true,
};
