import { assetLineage, assets, columnLineage, columns, environments } from '../../schema/assets.ts';
import { latestTestExecutions, testExecutions, tests } from '../../schema/data-tests.ts';
import { assetHealthScoreDimensions, assetHealthScores } from '../../schema/health.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import type { CollectionListing } from '../../src/server/listings.ts';
import { PLAIN_FEEDS } from '../support/catalogue.ts';
import { asset, assetEdge, column, columnEdge, insert, insertSample, NOW, run, test_ } from './fixture.ts';

const BI = { kind: 'bi', bi_platform: 'looker', bi_type: 'look' };

const GONE = [
  ['gone mine', { path: 'team/old' }],
  ['gone other', { path: 'else' }],
  ['gone pathless', {}],
  ['gone mine dash', { ...BI, path: 'team/bi' }],
  ['gone other dash', { ...BI, path: 'teamx' }],
] as const;

/** The assets by name, with their paths. `gone …` assets are deleted. Everything else is named after its asset. */
const ASSETS = [
  asset('mine', { path: 'team/core' }),
  asset('mine/nested', { path: 'team/core/deep' }),
  asset('mine dash', { ...BI, path: 'team/bi' }),
  asset('mine odd', { kind: 'hologram', path: 'team' }),
  asset('other', { path: 'teamx/core' }),
  asset('other dash', { ...BI, path: 'else/team' }),
  asset('pathless'),
  ...GONE.map(([id, more]) => asset(id, { ...more, deleted_at: '2026-11-10T00:00:00.000000Z', deletion: 'tombstone' })),
];

const NAMES = ASSETS.map(({ id }) => id);
const LIVE = NAMES.filter((name) => !name.startsWith('gone'));
const pairs = (names: readonly string[]) => LIVE.flatMap((up) => names.map((down) => [up, down] as const));

/** The assets that a reader restricted to `team` may see, by name. */
export const MINE = NAMES.filter((name) => name.includes('mine'));

/** Every asset has everything it can have, and one test has no asset. */
export function fillEstate(writing: MirrorFile): void {
  const { db } = writing;
  const score = { env_id: 'e', mirrored_at: NOW, score: 1, test_count: 1, bucket_at: NOW };
  const goneWith = (name: string) =>
    name.startsWith('gone') ? { deleted_at: '2026-11-10T00:00:00.000000Z', deletion: 'tombstone' as const } : {};
  insert(db, environments, { id: 'f', name: 'F', mirrored_at: NOW });
  // The same paths in another environment make nothing visible in this one.
  const elsewhere = ['other', 'pathless'].map((id) => asset(id, { env_id: 'f', path: 'team' }));
  insert(db, assets, [...ASSETS, ...elsewhere]);
  insert(db, columns, ...NAMES.map((name) => column(`${name}:col`, { asset_id: name, ...goneWith(name) })));
  insert(db, tests, [
    ...NAMES.map((name) => test_(`${name}:test`, { asset_id: name, ...goneWith(name) })),
    ...LIVE.map((name) => test_(`${name}:off`, { asset_id: name, disabled: 1 })),
    test_('assetless:test'),
  ]);
  for (const kind of PLAIN_FEEDS)
    for (const name of NAMES) insertSample(writing, kind, `${name}:${kind}`, { asset_id: name, ...goneWith(name) });
  const runs = [...LIVE.flatMap((name) => [`${name}:test`, `${name}:off`]), 'assetless:test', 'unseen:test'];
  const executions = runs.map((test_id) => run(`${test_id}:1`, { test_id, sub_test_unique_id: test_id }));
  insert(db, latestTestExecutions, executions);
  insert(db, testExecutions, executions);
  insert(db, assetLineage, ...pairs(LIVE).map(([up, down]) => assetEdge(up, down)));
  insert(db, columnLineage, ...pairs(NAMES).map(([up, down]) => columnEdge(`${up}:col`, `${down}:col`)));
  insert(db, assetHealthScores, ...LIVE.map((asset_id) => ({ ...score, asset_id })));
  insert(db, assetHealthScoreDimensions, ...LIVE.map((asset_id) => ({ ...score, asset_id, dimension: 'accuracy' })));
}

/** The ids that decide whether an item is visible. Each begins with the name of an asset that must be visible. */
const HANGS_ON: Readonly<Record<string, readonly string[]>> = {
  assets: ['id'],
  table_assets: ['id'],
  bi_assets: ['id'],
  columns: ['asset_id'],
  tests: ['asset_id'],
  asset_lineage: ['upstream_asset_id', 'downstream_asset_id'],
  column_lineage: ['downstream_column_id'],
  latest_test_executions: ['test_id'],
  test_executions: ['test_id'],
  asset_health_scores: ['asset_id'],
};

/** Whether a reader of only the assets `names` sees the item. */
export function isVisible(
  { entry }: CollectionListing,
  item: Record<string, unknown>,
  names: readonly string[],
): boolean {
  const fields = HANGS_ON[entry.name] ?? (entry.parent && [entry.parent.by]);
  if (fields === undefined) throw new Error(`say in HANGS_ON which assets an item of ${entry.name} hangs on`);
  return fields.every((field) => names.includes(String(item[field] ?? '').split(':')[0] ?? ''));
}
