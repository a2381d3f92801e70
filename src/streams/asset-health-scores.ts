import { SCORE_DAYS } from '../core/read-api.ts';
import type { Field } from '../core/stream.ts';
import { oneOfIndexed } from './endpoint.ts';
import { type CollectionEntry, ONE_READ } from './entry.ts';
import { required } from './fields.ts';

const ofTotal = (type: Field['type'], name: string): Field => ({ type, required: true, from: ['total', name] });

export const assetHealthScores = {
  name: 'asset_health_scores',
  method: 'snapshot',
  path: ['asset-health-scores'],
  key: ['asset_id'],
  fields: {
    asset_id: required('id'),
    score: ofTotal('number', 'score'),
    test_count: ofTotal('integer', 'test_count'),
    bucket_at: ofTotal('instant', 'bucket_at'),
  },
  table: 'asset_health_scores',
  staged: 'asset_health_scores_staged',
  childTables: [
    {
      table: 'asset_health_score_dimensions',
      staged: 'asset_health_score_dimensions_staged',
      each: 'dimensions',
      key: ['asset_id', 'dimension'],
      fields: {
        dimension: required('id'),
        score: required('number'),
        test_count: required('integer'),
        bucket_at: required('instant'),
      },
    },
  ],
  historyTables: [
    {
      table: 'asset_health_score_history',
      key: ['asset_id', 'dimension', 'bucket_at'],
      constants: { dimension: 'total' },
      scoredAt: 'bucket_at',
    },
  ],
  scanQueries: ONE_READ,
  dependencies: ['assets'],
  idsParameter: 'asset_ids',
  mayBeUnavailable: true,
  hourly: true,
  retention: { field: 'bucket_at', days: SCORE_DAYS },
  skipsShrinkGuard: true,
  serve: {
    scope: 'assets',
    noun: 'asset health score',
    describe: 'The score of every table asset with test results in the last 7 days.',
    filters: { asset_ids: oneOfIndexed('asset_id', 'Only the scores of these assets') },
    assets: ['asset_id'],
    // A score may be older than what is known of its asset, at times by an hour.
    shownWhile: [{ by: 'asset_id', table: 'assets', is: 'live', where: { field: 'kind', is: 'table' } }],
    weekOf: 'bucket_at',
    get: { parameter: 'asset_id', field: 'asset_id' },
  },
} as const satisfies CollectionEntry;
