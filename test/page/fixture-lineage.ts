import type { AssetDetail, LineageNode, Neighbours } from '../../src/page-data/page-data.ts';
import type { FixtureReplies } from './fixture-server.ts';

/** Every asset has this many upstream and this many downstream assets. */
const FAN = 30;

const node = (id: string): LineageNode => ({
  id,
  name: `asset ${id}`,
  kind: 'table',
  upstream_count: FAN,
  downstream_count: FAN,
  status: id.endsWith('3') ? 'FAIL' : 'PASS',
  failing_count: id.endsWith('3') ? 2 : 0,
  asset_id: null,
});

/** The lineage is a tree: every asset except the root is linked to the one that led to it. */
function neighbours({ id = '', direction, limit = '24', offset = '0' }: Readonly<Record<string, string>>): Neighbours {
  const way = direction === 'upstream' ? 'u' : 'd';
  const parent = /^(.+)\.([ud])\d+$/.exec(id);
  const back = parent !== null && parent[2] !== way ? [String(parent[1])] : [];
  const ids = [...back, ...Array.from({ length: FAN - back.length }, (_, i) => `${id}.${way}${i}`)];
  return { total: FAN, rows: ids.slice(Number(offset), Number(offset) + Number(limit)).map(node) };
}

export const assetDetail = (id: string): AssetDetail => ({
  asset: { id, name: `asset ${id}`, kind: 'table' },
  path: null,
  platform: null,
  description: null,
  url: 'javascript:alert(1)',
  owners: [],
  tags: [],
  updated_at: null,
  qualified_name: null,
  column_count: 0,
  scores: [],
  tests: null,
  test_count: null,
});

/** An endless lineage. */
export const ENDLESS_LINEAGE: FixtureReplies = {
  'environments/prod/asset': ({ id = '' }) => ({ body: assetDetail(id) }),
  'environments/prod/node': ({ id = '' }) => ({ body: node(id) }),
  'environments/prod/neighbours': (query) => ({ body: neighbours(query) }),
};
