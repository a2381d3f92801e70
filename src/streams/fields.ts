import type { Field, Fields, FieldType } from '../core/stream.ts';

/** A field that may be missing or null. */
export const optional = (type: FieldType): Field => ({ type });

/** A list of values; empty if the field is missing or null. */
export const list: Field = { type: 'json', empty: '[]' };

/** A required field; a row without it is rejected (R20). */
export const required = (type: FieldType): Field => ({ type, required: true });

/** The fields that every kind of asset has; `/assets` returns no others. */
export const COMMON_ASSET_FIELDS: Fields = {
  id: required('id'),
  name: required('text'),
  kind: required('text'),
  source_type: required('text'),
  description: optional('text'),
  owners: list,
  tags: list,
  parent_id: optional('id'),
  path: optional('text'),
  created_at: optional('instant'),
  updated_at: optional('instant'),
  synced_at: optional('instant'),
};

export const TABLE_FIELDS = ['data_platform', 'db_name', 'schema_name', 'table_name', 'materialization'] as const;

export const BI_FIELDS = ['bi_platform', 'bi_type', 'url'] as const;

/** One run of a test, as latest executions and histories return it. Live services send null as `failure_count`. */
export const EXECUTION_FIELDS: Fields = {
  id: required('id'),
  test_id: required('id'),
  sub_test_unique_id: required('id'),
  sub_type: required('text'),
  status: required('text'),
  failure_count: optional('integer'),
  start_time: required('instant'),
  duration_seconds: required('number'),
  column_name: optional('text'),
  quality_dimension: optional('text'),
  result_reason: optional('text'),
  exception: optional('text'),
  description: optional('text'),
  synced_at: optional('instant'),
};
