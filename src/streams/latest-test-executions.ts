import { ENABLED_AND_DISABLED, type Entry } from './entry.ts';
import { EXECUTION_FIELDS } from './fields.ts';

export const latestTestExecutions: Entry = {
  name: 'latest_test_executions',
  method: 'snapshot',
  path: ['latest-test-executions'],
  key: ['sub_test_unique_id'],
  fields: EXECUTION_FIELDS,
  table: 'latest_test_executions',
  staged: 'latest_test_executions_staged',
  variants: ENABLED_AND_DISABLED,
  after: ['tests'],
  idsParameter: 'sub_test_ids',
  owners: [{ by: 'test_id', table: 'tests', owners: [{ by: 'asset_id', table: 'assets' }] }],
  marks: [],
  newsFor: 'test_executions',
  archives: [{ table: 'test_executions' }],
  mayBeUnavailable: true,
};
