/** One environment of the model service, and what can happen in it. Every change is stamped with the world's time. */

export type Item = Record<string, unknown>;

/** `tombstone`: deleted and told of; `lost`: gone without a word. */
export interface Thing {
  item: Item;
  state: 'live' | 'tombstone' | 'lost';
  deletedAt: string | null;
}

export type Kind = 'assets' | 'columns' | 'tests';

export interface Place {
  readonly id: string;
  readonly name: string;
  listed: boolean;
  readonly assets: Map<string, Thing>;
  readonly columns: Map<string, Thing>;
  readonly tests: Map<string, Thing>;
  /** Upstream and downstream, by both. */
  readonly assetEdges: Map<string, readonly [string, string]>;
  readonly columnEdges: Map<string, readonly [string, string]>;
  /** Latest execution by sub-test. */
  readonly latest: Map<string, Item>;
  readonly executions: Item[];
  readonly scores: Map<string, Item>;
  /** Assets that the token may not see. */
  readonly hidden: Set<string>;
  /** Collections, or `environment`, that answer 403. */
  readonly denied: Set<string>;
  /** Collections that answer 404. */
  readonly notLive: Set<string>;
  /** The time a change is stamped with. */
  stamp(): string;
}

export function createPlace(id: string, stamp: () => string): Place {
  return {
    id,
    name: `env ${id}`,
    listed: true,
    assets: new Map(),
    columns: new Map(),
    tests: new Map(),
    assetEdges: new Map(),
    columnEdges: new Map(),
    latest: new Map(),
    executions: [],
    scores: new Map(),
    hidden: new Set(),
    denied: new Set(),
    notLive: new Set(),
    stamp,
  };
}

/** Creates, changes or re-creates; never undoes what is newer than the stamp. */
export function put(place: Place, kind: Kind, id: string, fields: Item): void {
  const held = place[kind].get(id);
  const now = place.stamp();
  if (held !== undefined && (String(held.item['synced_at']) > now || (held.deletedAt ?? '') > now)) return;
  place[kind].set(id, { item: { ...held?.item, ...fields, id, synced_at: now }, state: 'live', deletedAt: null });
}

const TABLE = { data_platform: 'snowflake', db_name: 'd', schema_name: 's', materialization: 'table' };
const BI = { bi_platform: 'looker', bi_type: 'dashboard', url: null };

export function putAsset(place: Place, id: string, fields: Item = {}): void {
  const kind = fields['kind'] ?? place.assets.get(id)?.item['kind'] ?? 'table';
  const typed = kind === 'table' ? { ...TABLE, table_name: id } : kind === 'bi' ? BI : {};
  const common = { name: id, kind, source_type: 'dbt', owners: [], tags: [] };
  put(place, 'assets', id, { ...common, ...typed, ...fields });
}

export function putColumn(place: Place, id: string, assetId: string, fields: Item = {}): void {
  put(place, 'columns', id, { asset_id: assetId, name: id, data_type: 'int', ...fields });
}

export function putTest(place: Place, id: string, assetId: string | null, fields: Item = {}): void {
  const types = { test_type: 'unique', definition_type: 'dbt', source_type: 'dbt', severity: 'ERROR' };
  put(place, 'tests', id, { name: id, ...types, disabled: false, asset_id: assetId, ...fields });
}

export function remove(place: Place, kind: Kind, id: string, state: 'tombstone' | 'lost' = 'tombstone'): void {
  const held = place[kind].get(id);
  const now = place.stamp();
  if (held?.state !== 'live' || String(held.item['synced_at']) > now) return;
  place[kind].set(id, { ...held, state, deletedAt: now });
}

/** An asset goes, and with it its columns and tests: told of, without a word, or not at all. */
export function removeAsset(place: Place, id: string, children: 'tombstone' | 'lost' | 'stay'): void {
  remove(place, 'assets', id);
  if (children === 'stay') return;
  for (const kind of ['columns', 'tests'] as const)
    for (const [child, { item }] of place[kind]) if (item['asset_id'] === id) remove(place, kind, child, children);
}

/** Back as it was, with its old `synced_at`: no feed tells. */
export function undelete(place: Place, kind: Kind, id: string): void {
  const held = place[kind].get(id);
  if (held !== undefined) place[kind].set(id, { ...held, state: 'live', deletedAt: null });
}

export function putAssetEdge(place: Place, up: string, down: string): void {
  place.assetEdges.set(`${up}>${down}`, [up, down]);
}

/** Replaces all edges into a column, which is stamped along. */
export function putColumnEdges(place: Place, down: string, ups: readonly string[]): void {
  const held = place.columns.get(down);
  if (held?.state !== 'live' || String(held.item['synced_at']) > place.stamp()) return;
  put(place, 'columns', down, {});
  for (const [key, edge] of place.columnEdges) if (edge[1] === down) place.columnEdges.delete(key);
  for (const up of ups) place.columnEdges.set(`${up}>${down}`, [up, down]);
}

/** A test has run: history grows, the latest row is replaced in place unless it is newer. */
export function execute(place: Place, testId: string, id: string, fields: Item = {}): void {
  const sub = String(fields['sub_test_unique_id'] ?? `${testId}.1`);
  const known = { sub_type: 'x', status: 'PASS', failure_count: 0, duration_seconds: 1.5, exception: null };
  const item = { ...known, id, test_id: testId, sub_test_unique_id: sub, start_time: place.stamp(), ...fields };
  place.executions.push(item);
  if (String(place.latest.get(sub)?.['start_time'] ?? '') <= String(item.start_time)) place.latest.set(sub, item);
}

export function putScore(place: Place, assetId: string, score: number, dimensions: Item = { freshness: score }): void {
  const bucket_at = `${place.stamp().slice(0, 13)}:00:00`;
  place.scores.set(assetId, {
    asset_id: assetId,
    total: { score, test_count: 3, bucket_at },
    dimensions: Object.entries(dimensions).map(([dimension, part]) => ({
      dimension,
      score: part,
      test_count: 1,
      bucket_at,
    })),
  });
}
