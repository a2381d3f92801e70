import { oneOf } from './endpoint.ts';
import { type CollectionEntry, ONE_READ } from './entry.ts';
import { EXECUTION_FIELDS } from './fields.ts';

/** The history of each test, read only with `--history`. A sync never deletes its rows (R17). */
export const testExecutions = {
  name: 'test_executions',
  method: 'window',
  path: ['tests', '{id}', 'executions'],
  key: ['sub_test_unique_id', 'id'],
  fields: EXECUTION_FIELDS,
  table: 'test_executions',
  scanQueries: ONE_READ,
  dependencies: ['tests', 'latest_test_executions'],
  mayBeUnavailable: true,
  optional: true,
  serve: {
    scope: 'tests',
    noun: 'test execution',
    describe: 'Executions of a test, the most recent first.',
    filters: {
      sub_test_ids: oneOf('sub_test_unique_id', 'Only executions of these sub-tests'),
      statuses: oneOf('status', 'Such as `PASS`, `FAIL`'),
    },
    idInPath: 'test_id',
    get: { parameter: 'execution_id', field: 'id' },
    orders: {
      start_time: ['start_time', 'id', 'sub_test_unique_id'],
      id: ['id', 'sub_test_unique_id'],
    },
    window: 'start_time',
    showsNulls: true,
    emptyIsNull: ['description'],
  },
} as const satisfies CollectionEntry;
