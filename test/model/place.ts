import type { FeedName } from '../../src/streams/catalogue.ts';
import { FEED_ENTRIES, FEED_STREAMS } from '../support/catalogue.ts';
import { SAMPLES } from '../support/samples.ts';

/** One environment of the model service, and what can happen in it. Every change is stamped with the world's time. */

export type Item = Record<string, unknown>;

/** `tombstone`: deleted and told of; `lost`: gone without a word. */
export interface Thing {
  item: Item;
  state: 'live' | 'tombstone' | 'lost';
  deletedAt: string | null;
  /** Of one that lives again: its old tombstone, where that stays in the feed. */
  oldDeletedAt?: string;
}

export type Kind = FeedName;

type Things = Readonly<Record<Kind, Map<string, Thing>>>;

export interface Place extends Things {
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
  readonly reports: Map<Item, { readonly at: string; readonly isNews: boolean }>;
  readonly scores: Map<string, Item>;
  /** Assets that the token may not see. */
  readonly hidden: Set<string>;
  /** Collections, scopes (`assets scope`, `tests scope`), or `environment`, that answer 403. */
  readonly denied: Set<string>;
  /** Things, by kind and id, that come with a field nobody can take (R20). */
  readonly spoiled: Set<string>;
  /** Collections that answer 404. */
  readonly notLive: Set<string>;
  /** Collections that answer no page of more rows than this. */
  readonly heavy: Map<string, number>;
  /** Collections whose lists break after their first page; their feeds, and what is asked for by id, answer. */
  readonly brokenScans: Set<string>;
  /** Tests whose histories answer so, for good. */
  readonly brokenHistories: Map<string, 403 | 500>;
  /** Whether what is made again keeps its old tombstone in the feed: nothing states it. */
  lingering: boolean;
  /** The version before the present one, by kind and id. */
  readonly older: Map<string, Item>;
  /** Whether objects come with their members the other way round (R21). */
  turned: boolean;
  /** Whether the upserts feeds show that as well: delivery is at least once. */
  repeating: boolean;
  /** Whether a column that goes takes the edges along in which it is upstream: nothing states it. */
  cutsEdges: boolean;
  /** Whether the typed lists come to a new version of an asset half an hour late (R22). */
  typedLag: boolean;
  /** Whether a column's new edges become visible half an hour after the column's change (R18). */
  edgeLag: boolean;
  /** Whether the first scan of lineage may have met edges that were not visible yet: a later scan shows them (R13). */
  hasLateEdges: boolean;
  /** The edges into a column before its last change of them. */
  readonly olderEdges: Map<string, { readonly until: string; readonly ups: readonly string[] }>;
  /** What the keys end in that are otherwise the same as others: easily lost where texts are compared or stored. */
  twinEnding: string;
  /** The time a change is stamped with. */
  stamp(): string;
  /** The time it is. */
  now(): string;
}

export function createPlace(id: string, stamp: () => string, now = stamp): Place {
  return {
    id,
    name: `env ${id}`,
    listed: true,
    ...(Object.fromEntries(FEED_STREAMS.map((kind) => [kind, new Map()])) as unknown as Things),
    assetEdges: new Map(),
    columnEdges: new Map(),
    latest: new Map(),
    executions: [],
    reports: new Map(),
    scores: new Map(),
    hidden: new Set(),
    denied: new Set(),
    spoiled: new Set(),
    notLive: new Set(),
    heavy: new Map(),
    brokenScans: new Set(),
    brokenHistories: new Map(),
    lingering: false,
    older: new Map(),
    turned: false,
    repeating: false,
    twinEnding: '\u0000',
    cutsEdges: false,
    typedLag: false,
    edgeLag: false,
    hasLateEdges: false,
    olderEdges: new Map(),
    stamp,
    now,
  };
}

/** A time that no service can mean. */
export const FAR_AHEAD = '2126-11-20T11:00:00.000Z';

/** A version that comes with a time a hundred years ahead, until the next change sets it right (R10). */
export function sendAhead(place: Place, kind: Kind, id: string): void {
  if (place[kind].get(id)?.state !== 'live') return;
  put(place, kind, id, { description: 'from the future' });
  const item = place[kind].get(id)?.item;
  if (item !== undefined) item['synced_at'] = FAR_AHEAD;
}

function isNewer(item: Item, now: string): boolean {
  return item['synced_at'] !== FAR_AHEAD && String(item['synced_at']) > now;
}

/** Creates, changes or re-creates; never undoes what is newer than the stamp. */
export function put(place: Place, kind: Kind, id: string, fields: Item): void {
  const held = place[kind].get(id);
  const now = place.stamp();
  if (held !== undefined && (isNewer(held.item, now) || (held.deletedAt ?? '') > now)) return;
  const died = held?.state === 'tombstone' ? held.deletedAt : null;
  const lingers = place.lingering && died !== null && died <= now ? { oldDeletedAt: died } : {};
  const item = { ...held?.item, ...fields, id, synced_at: now };
  // Of two versions of one moment the feed holds the later one.
  if (held !== undefined && held.item['synced_at'] !== now) place.older.set(`${kind} ${id}`, held.item);
  place[kind].set(id, { item, state: 'live', deletedAt: null, ...lingers });
}

export function putSample(place: Place, kind: Kind, id: string, parent: string, fields: Item = {}): void {
  put(place, kind, id, { ...SAMPLES[kind](id, parent), ...fields });
}

export function putAsset(place: Place, id: string, fields: Item = {}): void {
  const kind = fields['kind'] ?? place.assets.get(id)?.item['kind'] ?? 'table';
  const sample = SAMPLES[kind === 'table' ? 'table_assets' : kind === 'bi' ? 'bi_assets' : 'assets'](id, '');
  put(place, 'assets', id, { ...sample, kind, ...fields });
}

export function putColumn(place: Place, id: string, assetId: string, fields: Item = {}): void {
  putSample(place, 'columns', id, assetId, fields);
}

export function putTest(place: Place, id: string, assetId: string | null, fields: Item = {}): void {
  putSample(place, 'tests', id, '', { asset_id: assetId, ...fields });
}

/** @returns whether it went: not what is newer than the stamp */
export function remove(place: Place, kind: Kind, id: string, state: 'tombstone' | 'lost' = 'tombstone'): boolean {
  const held = place[kind].get(id);
  const now = place.stamp();
  if (held?.state !== 'live' || isNewer(held.item, now)) return false;
  place[kind].set(id, { ...held, state, deletedAt: now });
  if (kind === 'columns' && place.cutsEdges)
    for (const [key, [up]] of place.columnEdges) if (up === id) place.columnEdges.delete(key);
  return true;
}

/** An asset goes, and with it its columns and tests: told of, without a word, or not at all. */
export function removeAsset(place: Place, id: string, children: 'tombstone' | 'lost' | 'stay'): void {
  if (!remove(place, 'assets', id) || children === 'stay') return;
  for (const { kind, by } of OF_ASSETS)
    for (const [child, { item }] of place[kind]) if (item[by] === id) remove(place, kind, child, children);
}

/** What belongs to assets, and the field that names the asset. */
const OF_ASSETS = FEED_ENTRIES.flatMap(({ name, parent }) =>
  parent?.table === 'assets' ? [{ kind: name, by: parent.by }] : [],
);

/** Back as it was, with its old `synced_at`: no feed tells. */
export function undelete(place: Place, kind: Kind, id: string): void {
  const held = place[kind].get(id);
  if (held !== undefined) place[kind].set(id, { ...held, state: 'live', deletedAt: null });
}

/** Made again in the second in which it was deleted: the row and its tombstone carry the same time (R10). */
export function recreateAtOnce(place: Place, kind: Kind, id: string): void {
  const held = place[kind].get(id);
  const { deletedAt, state } = held ?? { deletedAt: null, state: 'lost' };
  if (held === undefined || deletedAt === null || state !== 'tombstone') return;
  if (Date.parse(place.stamp()) - Date.parse(deletedAt) > RECREATED_WITHIN_MS) return;
  const lingers = place.lingering ? { oldDeletedAt: deletedAt } : {};
  place[kind].set(id, { item: { ...held.item, synced_at: deletedAt }, state: 'live', deletedAt: null, ...lingers });
}

const RECREATED_WITHIN_MS = 1_800_000;

/** Restores an asset that went by tombstone, with what went at the same moment, whose `synced_at` stays: no feed tells of that. */
export function restoreAsset(place: Place, id: string): void {
  const held = place.assets.get(id);
  if (held?.state !== 'tombstone') return;
  for (const { kind, by } of OF_ASSETS)
    for (const [child, { item, state, deletedAt }] of place[kind])
      if (item[by] === id && state !== 'live' && deletedAt === held.deletedAt) undelete(place, kind, child);
  put(place, 'assets', id, {});
}

/** Comes with a field nobody can take, until it is mended (R20). */
export function spoil(place: Place, kind: Kind, id: string): void {
  if (place[kind].get(id)?.state === 'live') place.spoiled.add(`${kind} ${id}`);
}

/** What was spoiled comes right again without a word: no feed tells (R20). */
export function unspoil(place: Place, nth: number): void {
  const all = [...place.spoiled];
  place.spoiled.delete(all[nth % Math.max(1, all.length)] ?? '');
}

/** All that was spoiled comes right again, which is a change. */
export function mendAll(place: Place): void {
  for (const each of place.spoiled) {
    const [kind, id] = each.split(' ') as [Kind, string];
    if (place[kind].get(id)?.state === 'live') put(place, kind, id, {});
  }
  place.spoiled.clear();
}

export function putAssetEdge(place: Place, up: string, down: string): void {
  place.assetEdges.set(`${up}>${down}`, [up, down]);
}

/** Replaces all edges into a column, which is stamped along. */
export function putColumnEdges(place: Place, down: string, ups: readonly string[]): void {
  const held = place.columns.get(down);
  if (held?.state !== 'live' || isNewer(held.item, place.stamp())) return;
  put(place, 'columns', down, {});
  const before = [...place.columnEdges].filter(([, edge]) => edge[1] === down);
  if (place.edgeLag) place.olderEdges.set(down, { until: place.stamp(), ups: before.map(([, [up]]) => up) });
  for (const [key] of before) place.columnEdges.delete(key);
  for (const up of ups) place.columnEdges.set(`${up}>${down}`, [up, down]);
}

/** A test has run: history grows, the latest row is replaced in place unless it is newer. */
export function execute(place: Place, testId: string, id: string, fields: Item = {}): void {
  const sub = String(fields['sub_test_unique_id'] ?? `${testId}.1`);
  const sample = SAMPLES.test_executions(id, testId);
  const item: Item = { ...sample, sub_test_unique_id: sub, start_time: place.stamp(), ...fields };
  const isNews = String(place.latest.get(sub)?.['start_time'] ?? '') <= String(item['start_time']);
  place.executions.push(item);
  place.reports.set(item, { at: place.now(), isNews });
  if (isNews) place.latest.set(sub, item);
}

/** A score as it shows now: the asset's and its dimensions' of the last 7 days; null when there is none. */
export function currentScore(place: Place, score: Item): Item | null {
  const opens = new Date(Date.parse(place.now()) - SCORE_DAYS_MS).toISOString().slice(0, 19);
  const isCurrent = (part: Item): boolean => String(part['bucket_at']) >= opens;
  if (!isCurrent(score['total'] as Item)) return null;
  return { ...score, dimensions: (score['dimensions'] as Item[]).filter(isCurrent) };
}

const SCORE_DAYS_MS = 7 * 86_400_000;

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
