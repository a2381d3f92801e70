const BUCKET = {
  score: { type: 'number', minimum: 0, maximum: 1, description: 'The dimensions by their weights; 0 without results' },
  test_count: { type: 'integer', minimum: 0 },
  bucket_at: { type: ['string', 'null'], format: 'date-time' },
} as const;

/** The total of an aggregated health score. */
export const bucketSchema = {
  $id: 'AggregatedBucket',
  type: 'object',
  properties: BUCKET,
  required: ['score', 'test_count', 'bucket_at'],
} as const;

/** The aggregated health of a set of table assets. */
export const aggregateScoreSchema = {
  $id: 'AggregatedHealthScore',
  type: 'object',
  properties: {
    matched_count: {
      type: 'integer',
      minimum: 0,
      description: 'Table assets that match, whether or not they have test results',
    },
    total: { $ref: `${bucketSchema.$id}#` },
    dimensions: { type: 'array', items: { $ref: 'DimensionScore#' } },
  },
  required: ['matched_count', 'total', 'dimensions'],
} as const;
