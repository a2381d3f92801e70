import type { tests } from '../../schema/data-tests.ts';
import { instantOfMs } from '../core/time/instant.ts';
import { DOMAINS } from './domains.ts';
import { type AssetRow, type SampleAsset, type SampleEstate, syncedMs } from './estate.ts';

export type TestRow = typeof tests.$inferInsert;

const DBT = { test_type: 'dbt_test', source_type: 'dbt', project: 'jaffle_shop' };
const HOSTED = { test_type: 'anomaly_detection', source_type: 'hosted_cloud', project: null };

/** Whether the service runs the test itself. */
export const isHosted = ({ test_type }: TestRow): boolean => test_type === HOSTED.test_type;

/** What the tests of a definition type check. */
export const DIMENSION_OF: Readonly<Record<string, string>> = {
  not_null: 'completeness',
  unique: 'uniqueness',
  relationships: 'consistency',
  accepted_values: 'validity',
  freshness: 'freshness',
  volume: 'accuracy',
};

export function buildTests(estate: SampleEstate): TestRow[] {
  return estate.nodes.filter(({ asset }) => asset.kind === 'table').flatMap((node) => testsOf(estate, node));
}

function testsOf(estate: SampleEstate, asset: SampleAsset): TestRow[] {
  const { random } = estate;
  const { schema_name: schema, db_name: database, name } = asset.asset;
  const key = asset.columns[0]?.row.name as string;
  if (database === 'raw')
    return [monitor(estate, asset, 'freshness'), ...(random.chance(0.5) ? [monitor(estate, asset, 'volume')] : [])];
  const notNull = dbtTest(estate, asset, 'not_null', key);
  if (schema === 'intermediate') return [notNull];
  const unique = dbtTest(estate, asset, 'unique', key);
  if (name?.startsWith('rpt_')) return [unique];
  return schema === 'staging' ? [notNull, unique] : [notNull, unique, ...martTests(estate, asset)];
}

function martTests(estate: SampleEstate, asset: SampleAsset): TestRow[] {
  const names = asset.columns.flatMap(({ row }) => row.name ?? []);
  const foreign = names.find((name) => name.endsWith('_id'));
  return [
    ...(foreign ? [dbtTest(estate, asset, 'relationships', foreign)] : []),
    ...(names.includes('status') ? [dbtTest(estate, asset, 'accepted_values', 'status')] : []),
    monitor(estate, asset, 'volume'),
  ];
}

export function dbtTest(estate: SampleEstate, { asset }: SampleAsset, type: string, column: string): TestRow {
  const { random } = estate;
  const name = `${type}_${asset.name}_${column}`;
  return {
    ...common(estate, asset, type),
    ...DBT,
    id: `test.jaffle_shop.${name}.${random.hex(10)}`,
    name,
    column_name: column,
    severity: random.chance(0.8) ? 'ERROR' : 'WARNING',
    config: JSON.stringify(configOf(type, column, asset.path ?? '')),
    tags: asset.tags ?? '[]',
    path: asset.path ?? null,
  };
}

function monitor(estate: SampleEstate, { asset }: SampleAsset, type: string): TestRow {
  return {
    ...common(estate, asset, type),
    ...HOSTED,
    id: `monitor/${type}/${asset.id}`,
    name: `${type} of ${asset.schema_name}.${asset.name}`,
    severity: 'ERROR',
    config: JSON.stringify({ sensitivity: 'medium', schedule: '0 5 * * *' }),
    tags: '[]',
    description: `Watches the ${type} of ${asset.name}`,
  };
}

function common(estate: SampleEstate, { id, owners }: AssetRow, definition_type: string) {
  const at = instantOfMs(syncedMs(estate));
  const disabled = estate.random.chance(0.04) ? 1 : 0;
  const test = { env_id: estate.env, asset_id: id, definition_type, disabled, owners: owners ?? '[]' };
  return { ...test, synced_at: at, updated_at: at, mirrored_at: at };
}

function configOf(type: string, column: string, path: string): object {
  if (type === 'accepted_values')
    return { values: DOMAINS.find(({ name }) => path.endsWith(`/${name}`))?.statuses ?? [] };
  if (type === 'relationships') return { to: `ref('dim_${column.replace(/_id$/, 's')}')`, field: column };
  return { where: null, store_failures: type === 'unique' };
}
