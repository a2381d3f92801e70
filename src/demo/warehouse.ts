import type { SampleDomain } from './domains.ts';
import { addNode, type ColumnPlan, type SampleAsset, type SampleColumn, type SampleEstate } from './estate.ts';
import { ENTITY_NOTES, GRAINS } from './vocabulary.ts';

/** The tables of a domain that dashboards are built on. */
export interface DomainMarts {
  readonly facts: readonly SampleAsset[];
  readonly reports: readonly SampleAsset[];
}

interface WarehouseLayer {
  readonly schema: string;
  readonly folder: string;
  readonly tags: readonly string[];
  readonly materializations: readonly string[];
}

const STAGING: WarehouseLayer = { schema: 'staging', folder: 'staging', tags: ['staging'], materializations: ['view'] };
const INTERMEDIATE: WarehouseLayer = {
  schema: 'intermediate',
  folder: 'intermediate',
  tags: [],
  materializations: ['view', 'ephemeral', 'table'],
};
const MARTS: WarehouseLayer = {
  schema: 'marts',
  folder: 'marts',
  tags: ['mart'],
  materializations: ['table', 'incremental'],
};

/** Makes a domain from its sources to its reports: raw → staging → intermediate → marts → reports. */
export function buildDomain(sampleEstate: SampleEstate, sampleDomain: SampleDomain): DomainMarts {
  const connectors = sampleDomain.systems.map((system) => addConnector(sampleEstate, sampleDomain, system));
  const unions = sampleDomain.entities.map((entity) => {
    const shape = rawShape(sampleEstate, sampleDomain, entity);
    const staged = connectors.map((connector, i) => {
      const system = sampleDomain.systems[i] as string;
      return addStaging(
        sampleEstate,
        sampleDomain,
        system,
        addRaw(sampleEstate, sampleDomain, { system, entity, shape, connector }),
      );
    });
    return addModel(sampleEstate, sampleDomain, INTERMEDIATE, {
      name: `int_${entity}_unioned`,
      columns: merged(staged),
      from: staged,
    });
  });
  const joined = unions
    .slice(1, 5)
    .map((union, i) => addJoined(sampleEstate, sampleDomain, [union, unions[i] as SampleAsset]));
  const facts = unions.map((union, i) => addFact(sampleEstate, sampleDomain, joined[i - 1] ?? union, i));
  const reports = facts
    .slice(0, 7)
    .map((fact, i) => addReport(sampleEstate, sampleDomain, fact, GRAINS[i % 3] as string));
  addSemantic(sampleEstate, sampleDomain, facts.slice(0, 3));
  return { facts, reports };
}

const singular = (entity: string) =>
  entity
    .replace(/ies$/, 'y')
    .replace(/(ss|x|ch)es$/, '$1')
    .replace(/s$/, '');

function addConnector(sampleEstate: SampleEstate, { team, tags }: SampleDomain, system: string): SampleAsset {
  const name = `${system} connector`;
  return addNode(
    sampleEstate,
    { id: `fivetran.connector.${system}`, name, kind: 'etl', source_type: 'fivetran', owners: [team], tags },
    [],
    [],
  );
}

function rawShape(
  { random }: SampleEstate,
  { entities, measures, attributes }: SampleDomain,
  entity: string,
): ColumnPlan[] {
  const parents = random.some(
    entities.filter((other) => other !== entity),
    1 + random.whole(2),
  );
  return [
    plan('id', 'VARCHAR'),
    ...parents.map((parent) => plan(`${singular(parent)}_id`, 'VARCHAR')),
    ...(random.chance(0.6) ? [plan('status', 'VARCHAR')] : []),
    ...random.some(measures, 2 + random.whole(3)).map((name) => plan(name, 'NUMBER(38,2)')),
    ...random.some(attributes, 3 + random.whole(3)).map((name) => plan(name, typeOf(name))),
    plan('created_at', 'TIMESTAMP_NTZ'),
    plan('updated_at', 'TIMESTAMP_NTZ'),
  ];
}

interface RawTable {
  readonly system: string;
  readonly entity: string;
  readonly shape: readonly ColumnPlan[];
  readonly connector: SampleAsset;
}

function addRaw(
  sampleEstate: SampleEstate,
  sampleDomain: SampleDomain,
  { system, entity, shape, connector }: RawTable,
): SampleAsset {
  const columns = [...shape, plan('_fivetran_synced', 'TIMESTAMP_TZ')];
  const place = {
    id: `source.jaffle_shop.${system}.${entity}`,
    name: entity,
    kind: 'table',
    source_type: 'fivetran',
    data_platform: sampleEstate.platform,
    db_name: 'raw',
    schema_name: system,
    table_name: entity,
    materialization: 'table',
    path: `sources/${system}`,
    owners: ['Data Platform'],
    tags: ['raw', ...sampleDomain.tags],
  };
  return addNode(sampleEstate, place, columns, [connector]);
}

function addStaging(
  sampleEstate: SampleEstate,
  sampleDomain: SampleDomain,
  system: string,
  raw: SampleAsset,
): SampleAsset {
  const entity = raw.asset.name as string;
  const kept = raw.columns.filter(({ row }) => row.name !== '_fivetran_synced');
  const columns = kept.map((column) => ({ ...copied(column), name: renamed(column.row.name as string, entity) }));
  return addModel(sampleEstate, sampleDomain, STAGING, { name: `stg_${system}__${entity}`, columns, from: [raw] });
}

/** Unites two tables of the same columns and adds a column with the name of the table. */
function merged(tables: readonly SampleAsset[]): ColumnPlan[] {
  const [first, second] = tables as [SampleAsset, SampleAsset];
  const columns = first.columns.map((column, i) => ({
    ...copied(column),
    from: [column, second.columns[i]].filter((c) => c !== undefined),
  }));
  return [...columns, plan('source_system', 'VARCHAR')];
}

function addJoined(
  sampleEstate: SampleEstate,
  sampleDomain: SampleDomain,
  from: readonly [SampleAsset, SampleAsset],
): SampleAsset {
  const [left, right] = from;
  const names = new Set(left.columns.map(({ row }) => row.name));
  const added = right.columns.filter(({ row }) => !names.has(row.name)).slice(0, 4);
  const name = (left.asset.name as string).replace('_unioned', '_enriched');
  return addModel(sampleEstate, sampleDomain, INTERMEDIATE, {
    name,
    columns: [...left.columns, ...added].map(copied),
    from,
  });
}

function addFact(
  sampleEstate: SampleEstate,
  sampleDomain: SampleDomain,
  from: SampleAsset,
  index: number,
): SampleAsset {
  const entity = sampleDomain.entities[index] as string;
  const times = from.columns.filter(({ row }) => row.name?.endsWith('_at')).slice(0, 2);
  const columns = [
    ...from.columns.map(copied),
    made(`is_current_${singular(entity)}`, 'BOOLEAN', times),
    made('dbt_loaded_at', 'TIMESTAMP_TZ', []),
  ];
  return addModel(sampleEstate, sampleDomain, MARTS, {
    name: `${index % 3 === 1 ? 'dim' : 'fct'}_${entity}`,
    columns,
    from: [from],
  });
}

function addReport(
  sampleEstate: SampleEstate,
  sampleDomain: SampleDomain,
  fact: SampleAsset,
  grain: string,
): SampleAsset {
  const numbers = fact.columns.filter(({ row }) => row.data_type?.startsWith('NUMBER'));
  const created = fact.columns.filter(({ row }) => row.name === 'created_at');
  const columns = [
    made(grain === 'daily' ? 'day' : grain.replace('ly', ''), 'DATE', created),
    ...numbers.map((column) => made(`total_${column.row.name}`, 'NUMBER(38,2)', [column])),
    made('row_count', 'NUMBER(38,0)', fact.columns.slice(0, 1)),
  ];
  const name = `rpt_${(fact.asset.name as string).replace(/^(fct|dim)_/, '')}_${grain}`;
  return addModel(sampleEstate, sampleDomain, MARTS, { name, columns, from: [fact] });
}

function addSemantic(
  sampleEstate: SampleEstate,
  { name, team, tags }: SampleDomain,
  from: readonly SampleAsset[],
): void {
  const place = {
    id: `semantic_model.jaffle_shop.${name}`,
    name: `${name} metrics`,
    kind: 'semantic',
    source_type: 'dbt',
  };
  addNode(sampleEstate, { ...place, path: 'models/semantic', owners: [team], tags }, [], from);
}

interface WarehouseModel {
  readonly name: string;
  readonly columns: readonly ColumnPlan[];
  readonly from: readonly SampleAsset[];
}

function addModel(
  sampleEstate: SampleEstate,
  sampleDomain: SampleDomain,
  warehouseLayer: WarehouseLayer,
  { name, columns, from }: WarehouseModel,
): SampleAsset {
  const { random, platform } = sampleEstate;
  const entity = name
    .replace(/^(stg|int|fct|dim|rpt)_(\w+__)?/, '')
    .replace(/_(unioned|enriched)$/, '')
    .replaceAll('_', ' ');
  const place = {
    id: `model.jaffle_shop.${name}`,
    name,
    kind: 'table',
    source_type: 'dbt',
    data_platform: platform,
    db_name: 'analytics',
    schema_name: warehouseLayer.schema,
    table_name: name,
    materialization: random.pick(warehouseLayer.materializations),
    path: `models/${warehouseLayer.folder}/${sampleDomain.name}`,
    description: random.chance(0.8) ? random.pick(ENTITY_NOTES).replace('{}', entity) : null,
    owners: random.chance(0.9) ? [sampleDomain.team] : [],
    tags: [...warehouseLayer.tags, ...sampleDomain.tags],
  };
  return addNode(sampleEstate, place, columns, from);
}

const plan = (name: string, type: string): ColumnPlan => ({ name, type, from: [] });

const made = (name: string, type: string, from: readonly SampleColumn[]): ColumnPlan => ({ name, type, from });

const copied = (sampleColumn: SampleColumn): ColumnPlan => ({
  name: sampleColumn.row.name as string,
  type: sampleColumn.row.data_type as string,
  from: [sampleColumn],
});

const renamed = (name: string, entity: string) => (name === 'id' ? `${singular(entity)}_key` : name);

function typeOf(name: string): string {
  if (name.startsWith('is_') || name.startsWith('auto_')) return 'BOOLEAN';
  if (name.endsWith('_at')) return 'TIMESTAMP_NTZ';
  return name.endsWith('_date') ? 'DATE' : 'VARCHAR';
}
