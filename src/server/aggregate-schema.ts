import { INTEGER, NUMBER } from './schemas.ts';

const BUCKET = {
  score: {
    ...NUMBER,
    minimum: 0,
    maximum: 1,
    description: 'The weighted mean of the dimensions; 0 without results',
  },
  test_count: { ...INTEGER, minimum: 0 },
  bucket_at: { type: ['string', 'null'], format: 'date-time' },
} as const;

export const bucketSchema = {
  $id: 'AggregatedBucket',
  type: 'object',
  properties: BUCKET,
  required: ['score', 'test_count', 'bucket_at'],
} as const;

export const aggregateScoreSchema = {
  $id: 'AggregatedHealthScore',
  type: 'object',
  properties: {
    matched_count: {
      ...INTEGER,
      minimum: 0,
      description: 'The number of table assets that match, with or without test results',
    },
    total: { $ref: `${bucketSchema.$id}#` },
    dimensions: { type: 'array', items: { $ref: 'DimensionScore#' } },
  },
  required: ['matched_count', 'total', 'dimensions'],
} as const;
