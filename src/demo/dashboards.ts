import { type AssetPlan, addNode, type SampleAsset, type SampleDomainEstate } from './estate.ts';
import { DASHBOARD_NAMES, EXPLORE_NAMES, REGIONS } from './vocabulary.ts';
import type { DomainMarts } from './warehouse.ts';

const TILES = 4;
const TABLEAU_PER_DOMAIN = 3;

/** Looker explores, dashboards and looks that read the fact tables; Tableau reports that read the report tables. */
export function buildDashboards(estate: SampleDomainEstate, { facts, reports }: DomainMarts): void {
  const explores = EXPLORE_NAMES.map((name, i) => addExplore(estate, name, facts.slice(2 * i, 2 * i + 2)));
  const dashboards = explores.map((explore, i) => addDashboard(estate, DASHBOARD_NAMES[i] as string, explore));
  for (const dashboard of dashboards) addLook(estate, dashboard);
  for (const report of reports.slice(0, TABLEAU_PER_DOMAIN)) addReport(estate, report);
}

function addExplore(estate: SampleDomainEstate, name: string, facts: readonly SampleAsset[]): SampleAsset {
  const { domain } = estate;
  const fields = facts.flatMap(({ asset, columns }) =>
    columns.slice(0, 6).map((column) => ({ name: `${asset.name}.${column.row.name}`, type: 'string', from: [column] })),
  );
  const id = `looker.explore.${domain.name}::${name.toLowerCase()}`;
  const plan = looker(estate, { id, name: `${titled(domain.name)} ${name}`, bi_type: 'explore' });
  return addNode(estate, plan, facts, fields);
}

function addDashboard(estate: SampleDomainEstate, view: string, explore: SampleAsset): SampleAsset {
  const id = `looker.dashboard.${looseNumber(estate, 'dashboard')}`;
  const tiles = explore.columns
    .slice(0, TILES)
    .map((column, i) => ({ name: `tile_${i + 1}`, type: 'tile', from: [column] }));
  const plan = looker(estate, { id, name: `${titled(estate.domain.name)} – ${view}`, bi_type: 'dashboard' });
  return addNode(estate, plan, [explore], tiles);
}

function addLook(estate: SampleDomainEstate, { asset, from }: SampleAsset): void {
  const id = `looker.look.${looseNumber(estate, 'look')}`;
  addNode(
    estate,
    looker(estate, { id, name: `${asset.name} (scheduled)`, bi_type: 'look', parent_id: asset.id }),
    from,
  );
}

/** Tableau ids consist of folder and title, with slashes, spaces and letters of any script. */
function addReport(estate: SampleDomainEstate, report: SampleAsset): void {
  const { random, domain } = estate;
  const title = `${titled((report.asset.name as string).replace('rpt_', ''))} – ${random.pick(REGIONS)}`;
  const id = `tableau/${domain.team}/${title}`;
  const url = `https://tableau.example.com/#/views/${encodeURIComponent(title)}`;
  const plan = {
    id,
    name: title,
    kind: 'bi',
    source_type: 'tableau',
    bi_platform: 'tableau',
    bi_type: 'report',
    url,
    path: `Tableau/${domain.team}`,
    owners: [domain.team],
    tags: ['reporting'],
  };
  addNode(estate, plan, [report]);
}

type LookerPlan = Pick<AssetPlan, 'id' | 'name' | 'bi_type' | 'parent_id'>;

function looker({ domain: { name, team, tags } }: SampleDomainEstate, plan: LookerPlan): AssetPlan {
  const url = `https://looker.example.com/${plan.bi_type}s/${encodeURIComponent(plan.id.split('.').at(-1) as string)}`;
  return {
    ...plan,
    kind: 'bi',
    source_type: 'looker',
    bi_platform: 'looker',
    url,
    path: `Looker/${team}/${titled(name)}`,
    owners: [team],
    tags: [...tags, 'dashboard'],
  };
}

/** A number that no other look or dashboard of the estate has. */
function looseNumber({ nodes }: SampleDomainEstate, type: string): number {
  return 100 + 7 * nodes.filter(({ asset }) => asset.bi_type === type).length;
}

function titled(words: string): string {
  return words.replaceAll('_', ' ').replace(/\b\p{L}/gu, (letter) => letter.toUpperCase());
}
