import {
  addNode,
  type ColumnPlan,
  copyOf,
  type SampleAsset,
  type SampleColumn,
  type SampleDomainEstate,
} from './estate.ts';
import { ENTITY_NOTES, GRAINS } from './vocabulary.ts';

/** The tables of a domain that dashboards are built on. */
export type DomainMarts = ReturnType<typeof buildDomain>;

interface WarehouseLayer {
  /** The schema, and the folder of the models. */
  readonly name: string;
  readonly tags: readonly string[];
  readonly materializations: readonly string[];
}

const MARTS: WarehouseLayer = { name: 'marts', tags: ['mart'], materializations: ['table', 'incremental'] };

/** The other layers, by the prefix of their models. */
const LAYERS: Readonly<Record<string, WarehouseLayer>> = {
  stg: { name: 'staging', tags: ['staging'], materializations: ['view'] },
  int: { name: 'intermediate', tags: [], materializations: ['view', 'ephemeral', 'table'] },
};

/** Builds a domain from its sources to its reports: raw → staging → intermediate → marts → reports. */
export function buildDomain(estate: SampleDomainEstate) {
  const { systems, entities } = estate.domain;
  const connectors = systems.map((system) => addConnector(estate, system));
  const unions = entities.map((entity) => {
    const shape = rawShape(estate, entity);
    const staged = connectors.map((connector, i) => {
      const system = systems[i] as string;
      return addStaging(estate, system, addRaw(estate, { system, entity, shape }, connector));
    });
    return addModel(estate, `int_${entity}_unioned`, staged, merged(staged));
  });
  const joined = unions.slice(1, 5).map((union, i) => addJoined(estate, union, unions[i] as SampleAsset));
  const facts = unions.map((union, i) => addFact(estate, joined[i - 1] ?? union, i));
  const reports = facts.slice(0, 7).map((fact, i) => addReport(estate, fact, GRAINS[i % 3] as string));
  addSemantic(estate, facts.slice(0, 3));
  return { facts, reports };
}

const singular = (entity: string) =>
  entity
    .replace(/ies$/, 'y')
    .replace(/(ss|x|ch)es$/, '$1')
    .replace(/s$/, '');

function addConnector(estate: SampleDomainEstate, system: string): SampleAsset {
  const { team, tags } = estate.domain;
  const name = `${system} connector`;
  const place = { id: `fivetran.connector.${system}`, name, kind: 'etl', source_type: 'fivetran' };
  return addNode(estate, { ...place, owners: [team], tags }, []);
}

function rawShape({ random, domain }: SampleDomainEstate, entity: string): ColumnPlan[] {
  const { entities, measures, attributes } = domain;
  const others = entities.filter((other) => other !== entity);
  const parents = random.some(others, 1 + random.whole(2));
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

function addRaw(
  estate: SampleDomainEstate,
  { system, entity, shape }: { system: string; entity: string; shape: readonly ColumnPlan[] },
  connector: SampleAsset,
): SampleAsset {
  const columns = [...shape, plan('_fivetran_synced', 'TIMESTAMP_TZ')];
  const place = {
    id: `source.jaffle_shop.${system}.${entity}`,
    name: entity,
    kind: 'table',
    source_type: 'fivetran',
    data_platform: estate.platform,
    db_name: 'raw',
    schema_name: system,
    table_name: entity,
    materialization: 'table',
    path: `sources/${system}`,
    owners: ['Data Platform'],
    tags: ['raw', ...estate.domain.tags],
  };
  return addNode(estate, place, [connector], columns);
}

function addStaging(estate: SampleDomainEstate, system: string, raw: SampleAsset): SampleAsset {
  const entity = raw.asset.name as string;
  const kept = raw.columns.filter(({ row }) => row.name !== '_fivetran_synced');
  const columns = kept.map((column) => ({ ...copyOf(column), name: renamed(column.row.name as string, entity) }));
  return addModel(estate, `stg_${system}__${entity}`, [raw], columns);
}

/** Unions two tables with the same columns, and adds a column with the table's name. */
function merged(tables: readonly SampleAsset[]): ColumnPlan[] {
  const [first] = tables as [SampleAsset];
  const columns = first.columns.map((column, i) => ({
    ...copyOf(column),
    from: tables.flatMap(({ columns }) => columns[i] ?? []),
  }));
  return [...columns, plan('source_system', 'VARCHAR')];
}

function addJoined(estate: SampleDomainEstate, left: SampleAsset, right: SampleAsset): SampleAsset {
  const names = new Set(left.columns.map(({ row }) => row.name));
  const added = right.columns.filter(({ row }) => !names.has(row.name)).slice(0, 4);
  const name = (left.asset.name as string).replace('_unioned', '_enriched');
  return addModel(estate, name, [left, right], [...left.columns, ...added].map(copyOf));
}

function addFact(estate: SampleDomainEstate, from: SampleAsset, index: number): SampleAsset {
  const entity = estate.domain.entities[index] as string;
  const times = from.columns.filter(({ row }) => row.name?.endsWith('_at')).slice(0, 2);
  const columns = [
    ...from.columns.map(copyOf),
    plan(`is_current_${singular(entity)}`, 'BOOLEAN', times),
    plan('dbt_loaded_at', 'TIMESTAMP_TZ'),
  ];
  return addModel(estate, `${index % 3 === 1 ? 'dim' : 'fct'}_${entity}`, [from], columns);
}

function addReport(estate: SampleDomainEstate, fact: SampleAsset, grain: string): SampleAsset {
  const numbers = fact.columns.filter(({ row }) => row.data_type?.startsWith('NUMBER'));
  const created = fact.columns.filter(({ row }) => row.name === 'created_at');
  const columns = [
    plan(grain === 'daily' ? 'day' : grain.replace('ly', ''), 'DATE', created),
    ...numbers.map((column) => plan(`total_${column.row.name}`, 'NUMBER(38,2)', [column])),
    plan('row_count', 'NUMBER(38,0)', fact.columns.slice(0, 1)),
  ];
  const name = `rpt_${(fact.asset.name as string).replace(/^(fct|dim)_/, '')}_${grain}`;
  return addModel(estate, name, [fact], columns);
}

function addSemantic(estate: SampleDomainEstate, from: readonly SampleAsset[]): void {
  const { name, team, tags } = estate.domain;
  const place = { id: `semantic_model.jaffle_shop.${name}`, kind: 'semantic', source_type: 'dbt' };
  addNode(estate, { ...place, name: `${name} metrics`, path: 'models/semantic', owners: [team], tags }, from);
}

function addModel(
  estate: SampleDomainEstate,
  name: string,
  from: readonly SampleAsset[],
  columns: readonly ColumnPlan[],
): SampleAsset {
  const { random, platform, domain } = estate;
  const layer = LAYERS[name.slice(0, 3)] ?? MARTS;
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
    schema_name: layer.name,
    table_name: name,
    materialization: random.pick(layer.materializations),
    path: `models/${layer.name}/${domain.name}`,
    description: random.chance(0.8) ? random.pick(ENTITY_NOTES).replace('{}', entity) : null,
    owners: random.chance(0.9) ? ownersOf(name, domain.team) : [],
    tags: [...layer.tags, ...domain.tags],
  };
  return addNode(estate, place, from, columns);
}

/** Dimensions are used by everyone, so the team shares them. */
const ownersOf = (name: string, team: string): string[] => (name.startsWith('dim_') ? [team, 'Data Platform'] : [team]);

const plan = (name: string, type: string, from: readonly SampleColumn[] = []): ColumnPlan => ({ name, type, from });

const renamed = (name: string, entity: string) => (name === 'id' ? `${singular(entity)}_key` : name);

function typeOf(name: string): string {
  if (name.startsWith('is_') || name.startsWith('auto_')) return 'BOOLEAN';
  if (name.endsWith('_at')) return 'TIMESTAMP_NTZ';
  return name.endsWith('_date') ? 'DATE' : 'VARCHAR';
}
