import { type CollectionEndpoint, oneOf, oneOfIndexed } from './endpoint.ts';

/** What the endpoints of all kinds of assets share. */
export const ASSET_ENDPOINT = {
  scope: 'assets',
  tag: 'Assets',
  get: { parameter: 'asset_id', field: 'id' },
  showsNulls: true,
} as const satisfies Partial<CollectionEndpoint>;

export const ASSET_FILTERS = {
  ids: oneOfIndexed('id', 'Only assets with these ids'),
  source_types: oneOf('source_type', 'Such as `dbt`, `fivetran`'),
  tags: { by: 'tags', describe: 'Only those with any of these tags' },
  path: {
    by: 'path',
    describe: 'Only those at one of these paths or nested under one (`/`-separated; a trailing `/` is ignored)',
  },
} as const satisfies CollectionEndpoint['filters'];
