import type { FeedName } from '../../src/streams/catalogue.ts';
import { FEED_ENTRIES, FEED_STREAMS } from '../support/catalogue.ts';
import { SAMPLES } from '../support/samples.ts';

/** One environment of the model service, and what can happen in it. Every change is stamped with the world's time. */

export type Item = Record<string, unknown>;

/** `tombstone`: deleted and told of; `lost`: gone without a word. */
export interface Entity {
  item: Item;
  state: 'live' | 'tombstone' | 'lost';
  deletedAt: string | null;
  /** Of one that lives again: its old tombstone, where that stays in the feed. */
  oldDeletedAt?: string;
}

export type Kind = FeedName;

type Entities = Readonly<Record<Kind, Map<string, Entity>>>;

export interface EnvironmentModel extends Entities {
  readonly id: string;
  readonly name: string;
  listed: boolean;
  /** Upstream and downstream, by both. */
  readonly assetEdges: Map<string, readonly [string, string]>;
  readonly columnEdges: Map<string, readonly [string, string]>;
  /** Latest execution by sub-test. */
  readonly latest: Map<string, Item>;
  readonly executions: Item[];
  /** When an execution became known, and whether it was the latest of its sub-test then. */
  readonly reports: Map<Item, { readonly at: string; readonly isLatest: boolean }>;
  readonly scores: Map<string, Item>;
  /** Assets that the token may not see. */
  readonly hidden: Set<string>;
  /** Collections, scopes (`assets scope`, `tests scope`), or `environment`, that answer 403. */
  readonly denied: Set<string>;
  /** Things, by kind and id, that come with a field nobody can take (R20). */
  readonly malformed: Set<string>;
  /** Collections that answer 404. */
  readonly notLive: Set<string>;
  /** Collections that answer no page of more rows than this. */
  readonly maxPageRows: Map<string, number>;
  /** Collections whose lists break after their first page; their feeds, and what is asked for by id, answer. */
  readonly brokenScans: Set<string>;
  /** Tests whose histories answer so, for good. */
  readonly brokenHistories: Map<string, 403 | 500>;
  /** Whether what is made again keeps its old tombstone in the feed: nothing states it. */
  keepsTombstones: boolean;
  /** The version before the present one, by kind and id. */
  readonly previousVersions: Map<string, Item>;
  /** Whether objects come with their members the other way round (R21). */
  reversesMembers: boolean;
  /** Whether the upserts feeds show that as well: delivery is at least once. */
  redelivers: boolean;
  /** Whether a column that goes takes the edges along in which it is upstream: nothing states it. */
  dropsEdges: boolean;
  /** Whether the typed lists come to a new version of an asset half an hour late (R22). */
  typedLag: boolean;
  /** Whether a column's new edges become visible half an hour after the column's change (R18). */
  edgeLag: boolean;
  /** Whether the first scan of lineage may have met edges that were not visible yet: a later scan shows them (R13). */
  hasLateEdges: boolean;
  /** The edges into a column before its last change of them. */
  readonly previousEdges: Map<string, { readonly until: string; readonly ups: readonly string[] }>;
  /** What the keys end in that are otherwise the same as others: easily lost where texts are compared or stored. */
  keySuffix: string;
  /** The time a change is stamped with. */
  stamp(): string;
  /** The time it is. */
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
    hasLateEdges: false,
    previousEdges: new Map(),
    stamp,
    now,
  };
}

/** A time that no service can mean. */
export const FAR_FUTURE = '2126-11-20T11:00:00.000Z';

/** A version that comes with a time a hundred years ahead, until the next change sets it right (R10). */
export function stampInFuture(env: EnvironmentModel, kind: Kind, id: string): void {
  if (env[kind].get(id)?.state !== 'live') return;
  put(env, kind, id, { description: 'from the future' });
  const item = env[kind].get(id)?.item;
  if (item !== undefined) item['synced_at'] = FAR_FUTURE;
}

function isNewer(item: Item, now: string): boolean {
  return item['synced_at'] !== FAR_FUTURE && String(item['synced_at']) > now;
}

/** Creates, changes or re-creates; never undoes what is newer than the stamp. */
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

/** @returns whether it went: not what is newer than the stamp */
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
  if (kind === 'columns' && env.dropsEdges)
    for (const [key, [up]] of env.columnEdges) if (up === id) env.columnEdges.delete(key);
  return true;
}

/** An asset goes, and with it its columns and tests: told of, without a word, or not at all. */
export function removeAsset(env: EnvironmentModel, id: string, children: 'tombstone' | 'lost' | 'stay'): void {
  if (!remove(env, 'assets', id) || children === 'stay') return;
  for (const { kind, by } of ASSET_CHILDREN)
    for (const [child, { item }] of env[kind]) if (item[by] === id) remove(env, kind, child, children);
}

/** What belongs to assets, and the field that names the asset. */
const ASSET_CHILDREN = FEED_ENTRIES.flatMap(({ name, parent }) =>
  parent?.table === 'assets' ? [{ kind: name, by: parent.by }] : [],
);

/** Back as it was, with its old `synced_at`: no feed tells. */
export function undelete(env: EnvironmentModel, kind: Kind, id: string): void {
  const held = env[kind].get(id);
  if (held !== undefined) env[kind].set(id, { ...held, state: 'live', deletedAt: null });
}

/** Made again in the second in which it was deleted: the row and its tombstone carry the same time (R10). */
export function recreateInSameSecond(env: EnvironmentModel, kind: Kind, id: string): void {
  const held = env[kind].get(id);
  const { deletedAt, state } = held ?? { deletedAt: null, state: 'lost' };
  if (held === undefined || deletedAt === null || state !== 'tombstone') return;
  if (Date.parse(env.stamp()) - Date.parse(deletedAt) > RECREATED_WITHIN_MS) return;
  const lingers = env.keepsTombstones ? { oldDeletedAt: deletedAt } : {};
  env[kind].set(id, { item: { ...held.item, synced_at: deletedAt }, state: 'live', deletedAt: null, ...lingers });
}

const RECREATED_WITHIN_MS = 1_800_000;

/** Restores an asset that went by tombstone, with what went at the same moment, whose `synced_at` stays: no feed tells of that. */
export function restoreAsset(env: EnvironmentModel, id: string): void {
  const held = env.assets.get(id);
  if (held?.state !== 'tombstone') return;
  for (const { kind, by } of ASSET_CHILDREN)
    for (const [child, { item, state, deletedAt }] of env[kind])
      if (item[by] === id && state !== 'live' && deletedAt === held.deletedAt) undelete(env, kind, child);
  put(env, 'assets', id, {});
}

/** Comes with a field nobody can take, until it is mended (R20). */
export function makeMalformed(env: EnvironmentModel, kind: Kind, id: string): void {
  if (env[kind].get(id)?.state === 'live') env.malformed.add(`${kind} ${id}`);
}

/** What was spoiled comes right again without a word: no feed tells (R20). */
export function repairNth(env: EnvironmentModel, nth: number): void {
  const all = [...env.malformed];
  env.malformed.delete(all[nth % Math.max(1, all.length)] ?? '');
}

/** All that was spoiled comes right again, which is a change. */
export function repairAll(env: EnvironmentModel): void {
  for (const each of env.malformed) {
    const [kind, id] = each.split(' ') as [Kind, string];
    if (env[kind].get(id)?.state === 'live') put(env, kind, id, {});
  }
  env.malformed.clear();
}

export function putAssetEdge(env: EnvironmentModel, up: string, down: string): void {
  env.assetEdges.set(`${up}>${down}`, [up, down]);
}

/** Replaces all edges into a column, which is stamped along. */
export function putColumnEdges(env: EnvironmentModel, down: string, ups: readonly string[]): void {
  const held = env.columns.get(down);
  if (held?.state !== 'live' || isNewer(held.item, env.stamp())) return;
  put(env, 'columns', down, {});
  const before = [...env.columnEdges].filter(([, edge]) => edge[1] === down);
  if (env.edgeLag) env.previousEdges.set(down, { until: env.stamp(), ups: before.map(([, [up]]) => up) });
  for (const [key] of before) env.columnEdges.delete(key);
  for (const up of ups) env.columnEdges.set(`${up}>${down}`, [up, down]);
}

/** A test has run: history grows, the latest row is replaced in place unless it is newer. */
export function execute(env: EnvironmentModel, testId: string, id: string, fields: Item = {}): void {
  const sub = String(fields['sub_test_unique_id'] ?? `${testId}.1`);
  const sample = SAMPLES.test_executions(id, testId);
  const item: Item = { ...sample, sub_test_unique_id: sub, start_time: env.stamp(), ...fields };
  const isLatest = String(env.latest.get(sub)?.['start_time'] ?? '') <= String(item['start_time']);
  env.executions.push(item);
  env.reports.set(item, { at: env.now(), isLatest });
  if (isLatest) env.latest.set(sub, item);
}

/** A score as it shows now: the asset's and its dimensions' of the last 7 days; null when there is none. */
export function currentScore(env: EnvironmentModel, score: Item): Item | null {
  const opens = new Date(Date.parse(env.now()) - SCORE_DAYS_MS).toISOString().slice(0, 19);
  const isCurrent = (part: Item): boolean => String(part['bucket_at']) >= opens;
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
