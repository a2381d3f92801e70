const SCORE = { type: 'number', minimum: 0, maximum: 1 };
const COUNT = { type: 'integer', minimum: 0 };
const BUCKET = { type: 'string', format: 'date-time' };

/** The aggregated health of a set of table assets. */
export const cardSchema = {
  $id: 'AggregatedHealthScore',
  type: 'object',
  properties: {
    matched_count: { ...COUNT, description: 'Table assets that match, whether or not they have test results' },
    total: {
      type: 'object',
      properties: {
        score: { ...SCORE, description: 'The dimensions by their weights; 0 when there are no results' },
        test_count: COUNT,
        bucket_at: { ...BUCKET, type: ['string', 'null'] },
      },
      required: ['score', 'test_count', 'bucket_at'],
    },
    dimensions: {
      type: 'array',
      items: {
        type: 'object',
        properties: { dimension: { type: 'string' }, score: SCORE, test_count: COUNT, bucket_at: BUCKET },
        required: ['dimension', 'score', 'test_count', 'bucket_at'],
      },
    },
  },
  required: ['matched_count', 'total', 'dimensions'],
} as const;
