import { oneOf, oneOfIndexed, parentOneOf, parentOneOfIndexed } from './endpoint.ts';
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
  historyTables: [{ table: 'test_executions', key: ['sub_test_unique_id', 'id'] }],
  mayBeUnavailable: true,
  serve: {
    scope: 'tests',
    noun: 'latest test execution',
    item: 'TestExecution',
    describe: 'The latest execution of every sub-test.',
    filters: {
      sub_test_ids: oneOfIndexed('sub_test_unique_id', 'Only these sub-tests'),
      test_ids: oneOfIndexed('test_id', 'Only sub-tests of these tests'),
      asset_ids: parentOneOfIndexed('asset_id', 'Only sub-tests of tests on these assets'),
      test_types: parentOneOf('test_type', 'By the type of the test'),
      definition_types: parentOneOf('definition_type', 'By the definition type of the test'),
      source_types: parentOneOf('source_type', 'By the source type of the test, such as `dbt`'),
      statuses: oneOf('status', 'Such as `PASS`, `FAIL`'),
    },
    shownWhile: [{ by: 'test_id', table: 'tests', is: 'not deleted' }],
    disabled: 'parent',
    get: { parameter: 'sub_test_unique_id', field: 'sub_test_unique_id' },
    orders: { id: ['sub_test_unique_id'], synced_at: ['synced_at', 'sub_test_unique_id'] },
    showsNulls: true,
    emptyIsNull: ['description'],
  },
} as const satisfies CollectionEntry;
