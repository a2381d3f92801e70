import { type CollectionEntry, ENABLED_AND_DISABLED } from './entry.ts';
import { EXECUTION_FIELDS } from './fields.ts';

export const latestTestExecutions = {
  name: 'latest_test_executions',
  method: 'snapshot',
  path: ['latest-test-executions'],
  key: ['sub_test_unique_id'],
  fields: EXECUTION_FIELDS,
  table: 'latest_test_executions',
  staged: 'latest_test_executions_staged',
  scanQueries: ENABLED_AND_DISABLED,
  dependencies: ['tests'],
  idsParameter: 'sub_test_ids',
  parents: [{ by: 'test_id', table: 'tests', parents: [{ by: 'asset_id', table: 'assets' }] }],
  reopens: 'test_executions',
  historyTables: [{ table: 'test_executions' }],
  mayBeUnavailable: true,
} as const satisfies CollectionEntry;
