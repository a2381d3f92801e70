import { type CollectionEntry, ONE_READ } from './entry.ts';
import { EXECUTION_FIELDS } from './fields.ts';

/** The history of each test, read only with `--history`. Its rows are never deleted (R17). */
export const testExecutions = {
  name: 'test_executions',
  method: 'window',
  path: ['tests', '{id}', 'executions'],
  key: ['sub_test_unique_id', 'id'],
  fields: EXECUTION_FIELDS,
  table: 'test_executions',
  scanQueries: ONE_READ,
  dependencies: ['tests', 'latest_test_executions'],
  idsParameter: 'sub_test_ids',
  mayBeUnavailable: true,
  optional: true,
} as const satisfies CollectionEntry;
