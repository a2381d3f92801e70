import type { FeedName } from '../../src/streams/catalogue.ts';
import { FEED_ENTRIES, FEED_STREAMS } from '../support/catalogue.ts';
import { SAMPLES } from '../support/samples.ts';

/** One environment of the model service and the changes to it. Every change is stamped with the world's time. */

export type Item = Record<string, unknown>;

/** `tombstone`: deleted and reported; `lost`: vanished without a tombstone. */
export interface Entity {
  item: Item;
  state: 'live' | 'tombstone' | 'lost';
  deletedAt: string | null;
  /** The old tombstone of a recreated entity, if it stays in the feed. */
  oldDeletedAt?: string;
}

export type Kind = FeedName;

type Entities = Readonly<Record<Kind, Map<string, Entity>>>;

export interface EnvironmentModel extends Entities {
  readonly id: string;
  readonly name: string;
  listed: boolean;
  /** Pairs of upstream and downstream, by both ids. */
  readonly assetEdges: Map<string, readonly [string, string]>;
  readonly columnEdges: Map<string, readonly [string, string]>;
  /** The latest execution of each sub-test. */
  readonly latest: Map<string, Item>;
  readonly executions: Item[];
  /** When an execution was reported, and whether it was the latest of its sub-test then. */
  readonly reports: Map<Item, { readonly at: string; readonly isLatest: boolean }>;
  readonly scores: Map<string, Item>;
  /** Assets hidden from the token. */
  readonly hidden: Set<string>;
  /** What answers 403: collections, scopes (`assets scope`, `tests scope`), or `environment`. */
  readonly denied: Set<string>;
  /** Entities, by kind and id, that are sent with a field of the wrong type (R20). */
  readonly malformed: Set<string>;
  /** Collections that answer 404. */
  readonly notLive: Set<string>;
  /** The largest page of a collection that does not fail. */
  readonly maxPageRows: Map<string, number>;
  /** Lists that fail after their first page. Their feeds and lookups by id still answer. */
  readonly brokenScans: Set<string>;
  /** Tests whose histories always answer with this status. */
  readonly brokenHistories: Map<string, 403 | 500>;
  /** Whether a recreated entity's old tombstone stays in the feed; the API does not say. */
  keepsTombstones: boolean;
  /** The version before the current one, by kind and id. */
  readonly previousVersions: Map<string, Item>;
  /** Whether objects are sent with their members in reverse order (R21). */
  reversesMembers: boolean;
  /** Whether the upserts feeds also return the previous version: delivery is at least once. */
  redelivers: boolean;
  /** Whether deleting a column deletes the edges from it; the API does not say. */
  dropsEdges: boolean;
  /** Whether the typed lists return a new version of an asset half an hour late (R22). */
  typedLag: boolean;
  /** Whether a column's new edges appear half an hour after the column's change (R18). */
  edgeLag: boolean;
  /**
   * Whether the mirror may differ until a later scan (R13): the first scan of lineage may have missed lagging edges, a
   * wrong `Date` may have cost rows their times (R10), or edges were deleted together with a column that the mirror had
   * not revived, or that came back before the mirror saw it deleted.
   */
  needsScan: boolean;
  /** Columns that were returned but stay deleted in the mirror while their tombstone is young (R10). */
  readonly unrevived: Set<string>;
  /** Columns whose removal deleted edges, and which the mirror has not seen deleted. */
  readonly droppedUnseen: Set<string>;
  /** The edges into a column before their last change. */
  readonly previousEdges: Map<string, { readonly until: string; readonly ups: readonly string[] }>;
  /** The ending of near-duplicate keys: a character that is easily lost when text is compared or stored. */
  keySuffix: string;
  /** The time that a change is stamped with. */
  stamp(): string;
  /** The current time. */
  now(): string;
}

export function createEnvironment(id: string, stamp: () => string, now = stamp): EnvironmentModel {
  return {
    id,
    name: `env ${id}`,
    listed: true,
    ...(Object.fromEntries(FEED_STREAMS.map((kind) => [kind, new Map()])) as unknown as Entities),
    assetEdges: new Map(),
    columnEdges: new Map(),
    latest: new Map(),
    executions: [],
    reports: new Map(),
    scores: new Map(),
    hidden: new Set(),
    denied: new Set(),
    malformed: new Set(),
    notLive: new Set(),
    maxPageRows: new Map(),
    brokenScans: new Set(),
    brokenHistories: new Map(),
    keepsTombstones: false,
    previousVersions: new Map(),
    reversesMembers: false,
    redelivers: false,
    keySuffix: '\u0000',
    dropsEdges: false,
    typedLag: false,
    edgeLag: false,
    needsScan: false,
    unrevived: new Set(),
    droppedUnseen: new Set(),
    previousEdges: new Map(),
    stamp,
    now,
  };
}

/** A time that no service can mean: a century ahead. */
export const FAR_FUTURE = '2126-11-20T11:00:00.000Z';

/** Stamps a new version a century ahead, until the next change corrects it (R10). */
export function stampInFuture(env: EnvironmentModel, kind: Kind, id: string): void {
  if (env[kind].get(id)?.state !== 'live') return;
  put(env, kind, id, { description: 'from the future' });
  const item = env[kind].get(id)?.item;
  if (item !== undefined) item['synced_at'] = FAR_FUTURE;
}

function isNewer(item: Item, now: string): boolean {
  return item['synced_at'] !== FAR_FUTURE && String(item['synced_at'] ?? '') > now;
}

/** Creates, changes or recreates an entity, unless it is newer than the stamp. */
export function put(env: EnvironmentModel, kind: Kind, id: string, fields: Item): void {
  const held = env[kind].get(id);
  const now = env.stamp();
  if (held !== undefined && (isNewer(held.item, now) || (held.deletedAt ?? '') > now)) return;
  const died = held?.state === 'tombstone' ? held.deletedAt : null;
  const tombstone = env.keepsTombstones && died !== null && died <= now ? { oldDeletedAt: died } : {};
  const item = { ...held?.item, ...fields, id, synced_at: now };
  // Of two versions of one moment the feed holds the later one.
  if (held !== undefined && held.item['synced_at'] !== now) env.previousVersions.set(`${kind} ${id}`, held.item);
  env[kind].set(id, { item, state: 'live', deletedAt: null, ...tombstone });
  noteReturn(env, kind, id);
}

/** Of a column that comes back, nothing reports that its edges to other columns are gone. */
function noteReturn(env: EnvironmentModel, kind: Kind, id: string): void {
  env.needsScan ||= kind === 'columns' && env.droppedUnseen.delete(id);
}

export function putSample(env: EnvironmentModel, kind: Kind, id: string, parent: string, fields: Item = {}): void {
  put(env, kind, id, { ...SAMPLES[kind](id, parent), ...fields });
}

export function putAsset(env: EnvironmentModel, id: string, fields: Item = {}): void {
  const kind = fields['kind'] ?? env.assets.get(id)?.item['kind'] ?? 'table';
  const sample = SAMPLES[kind === 'table' ? 'table_assets' : kind === 'bi' ? 'bi_assets' : 'assets'](id, '');
  put(env, 'assets', id, { ...sample, kind, ...fields });
}

export function putColumn(env: EnvironmentModel, id: string, assetId: string, fields: Item = {}): void {
  putSample(env, 'columns', id, assetId, fields);
}

export function putTest(env: EnvironmentModel, id: string, assetId: string | null, fields: Item = {}): void {
  putSample(env, 'tests', id, '', { asset_id: assetId, ...fields });
}

/** @returns whether it was removed: false if it is newer than the stamp */
export function remove(
  env: EnvironmentModel,
  kind: Kind,
  id: string,
  state: 'tombstone' | 'lost' = 'tombstone',
): boolean {
  const held = env[kind].get(id);
  const now = env.stamp();
  if (held?.state !== 'live' || isNewer(held.item, now)) return false;
  env[kind].set(id, { ...held, state, deletedAt: now });
  const dropped = kind === 'columns' && env.dropsEdges ? [...env.columnEdges].filter(([, [up]]) => up === id) : [];
  for (const [key] of dropped) env.columnEdges.delete(key);
  env.needsScan ||= dropped.length > 0 && env.unrevived.has(id);
  if (dropped.length > 0) env.droppedUnseen.add(id);
  return true;
}

/** Removes an asset. Its columns and tests get a tombstone, vanish without one, or stay. */
export function removeAsset(env: EnvironmentModel, id: string, children: 'tombstone' | 'lost' | 'stay'): void {
  if (!remove(env, 'assets', id) || children === 'stay') return;
  for (const { kind, by } of ASSET_CHILDREN)
    for (const [child, { item }] of env[kind]) if (item[by] === id) remove(env, kind, child, children);
}

/** The kinds that belong to assets, and their field that names the asset. */
const ASSET_CHILDREN = FEED_ENTRIES.flatMap(({ name, parent }) =>
  parent?.table === 'assets' ? [{ kind: name, by: parent.by }] : [],
);

/** Restores an entity with its old `synced_at`, so no feed reports it. Its tombstone may still be sent. */
export function undelete(env: EnvironmentModel, kind: Kind, id: string, keepsTombstone = false): void {
  const held = env[kind].get(id);
  if (held === undefined) return;
  const tombstone = keepsTombstone && held.deletedAt !== null ? { oldDeletedAt: held.deletedAt } : {};
  env[kind].set(id, { ...held, state: 'live', deletedAt: null, ...tombstone });
  noteReturn(env, kind, id);
}

/** Recreates an entity with the time of its own tombstone (R10). */
export function recreateInSameSecond(env: EnvironmentModel, kind: Kind, id: string): void {
  const held = env[kind].get(id);
  if (held?.state !== 'tombstone' || held.deletedAt === null) return;
  const isLate = Date.parse(env.stamp()) - Date.parse(held.deletedAt) > RECREATED_WITHIN_MS;
  if (isLate || (kind === 'assets' && hasLostChildren(env, id, held.deletedAt))) return;
  const lingers = env.keepsTombstones ? { oldDeletedAt: held.deletedAt } : {};
  env[kind].set(id, { item: { ...held.item, synced_at: held.deletedAt }, state: 'live', deletedAt: null, ...lingers });
  noteReturn(env, kind, id);
}

const RECREATED_WITHIN_MS = 1_800_000;

/** Whether something went with the asset without a tombstone. If the asset comes back, only a scan notices (R13). */
function hasLostChildren(env: EnvironmentModel, id: string, at: string): boolean {
  const isLost = ({ state, deletedAt }: Entity): boolean => state === 'lost' && deletedAt === at;
  return ASSET_CHILDREN.some(({ kind, by }) => [...env[kind].values()].some((it) => it.item[by] === id && isLost(it)));
}

/** Restores a deleted asset and what was deleted with it. Only the asset is touched, so no feed reports the rest. */
export function restoreAsset(env: EnvironmentModel, id: string): void {
  const held = env.assets.get(id);
  if (held?.state !== 'tombstone') return;
  for (const { kind, by } of ASSET_CHILDREN)
    for (const [child, { item, state, deletedAt }] of env[kind])
      if (item[by] === id && state !== 'live' && deletedAt === held.deletedAt) undelete(env, kind, child);
  put(env, 'assets', id, {});
}

export function putAssetEdge(env: EnvironmentModel, up: string, down: string): void {
  env.assetEdges.set(`${up}>${down}`, [up, down]);
}

/** Replaces all edges into a column, and touches the column. */
export function putColumnEdges(env: EnvironmentModel, down: string, ups: readonly string[]): void {
  const held = env.columns.get(down);
  if (held?.state !== 'live' || isNewer(held.item, env.stamp())) return;
  put(env, 'columns', down, {});
  const before = [...env.columnEdges].filter(([, edge]) => edge[1] === down);
  if (env.edgeLag) env.previousEdges.set(down, { until: env.stamp(), ups: before.map(([, [up]]) => up) });
  for (const [key] of before) env.columnEdges.delete(key);
  for (const up of ups) env.columnEdges.set(`${up}>${down}`, [up, down]);
}

/** Reports an execution: adds it to the history, and replaces the latest row unless that is newer. */
export function execute(env: EnvironmentModel, testId: string, id: string, fields: Item = {}): void {
  const sub = String(fields['sub_test_unique_id'] ?? `${testId}.1`);
  const sample = SAMPLES.test_executions(id, testId);
  const item: Item = { ...sample, sub_test_unique_id: sub, start_time: env.stamp(), ...fields };
  const isLatest = String(env.latest.get(sub)?.['start_time'] ?? '') <= String(item['start_time']);
  env.executions.push(item);
  env.reports.set(item, { at: env.now(), isLatest });
  if (isLatest) env.latest.set(sub, item);
}

/** A score as the service returns it now: only the parts of the last 7 days; null if the total is older. */
export function currentScore(env: EnvironmentModel, score: Item): Item | null {
  const from = new Date(Date.parse(env.now()) - SCORE_DAYS_MS).toISOString().slice(0, 19);
  const isCurrent = (part: Item): boolean => String(part['bucket_at']) >= from;
  if (!isCurrent(score['total'] as Item)) return null;
  return { ...score, dimensions: (score['dimensions'] as Item[]).filter(isCurrent) };
}

const SCORE_DAYS_MS = 7 * 86_400_000;

export function putScore(
  env: EnvironmentModel,
  assetId: string,
  score: number,
  dimensions: Item = { freshness: score },
): void {
  const bucket_at = `${env.stamp().slice(0, 13)}:00:00`;
  env.scores.set(assetId, {
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
