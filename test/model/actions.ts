import fc from 'fast-check';
import { parseExactly } from '../../src/core/json.ts';
import { FEED_ENTRIES, FEED_STREAMS, PLAIN_FEEDS } from '../support/catalogue.ts';
import {
  type Entity,
  type EnvironmentModel,
  execute,
  type Kind,
  put,
  putAsset,
  putAssetEdge,
  putColumn,
  putColumnEdges,
  putSample,
  putScore,
  putTest,
  recreateInSameSecond,
  remove,
  removeAsset,
  stampInFuture,
  undelete,
} from './environment.ts';
import { makeMalformed, repairNth } from './malformed.ts';
import { DAY, HOUR, type World } from './world.ts';

/** One action on an environment. `n` and `m` choose its objects among a few, `variant` chooses how it acts. */
export interface Action {
  readonly name: keyof typeof ACTIONS;
  readonly n: number;
  readonly m: number;
  readonly variant: number;
}

const BULK_COLUMNS = 60;
export const ASSET_KINDS = ['table', 'bi', 'etl', 'table', 'neuland'] as const;
const LIMITED_LISTS = ['columns', 'tests', 'asset-lineage', 'executions'] as const;

const NEAR_KEY_ACTIONS: readonly ((env: EnvironmentModel, asset: string, test: string, m: number) => void)[] = [
  (env, asset, test) => putTest(env, `${test}${env.keySuffix}`, asset),
  (env, asset, _, m) => putColumn(env, `${asset}.c0${env.keySuffix}`, asset, { data_type: `t${m}` }),
  (env, asset) => putColumnEdges(env, `${asset}.c0${env.keySuffix}`, ['a0.c0', `a0.c0${env.keySuffix}`]),
  (env, asset) => {
    const nearId = `${asset}${env.keySuffix}`;
    putAsset(env, nearId);
    putColumn(env, `${nearId}.c0`, nearId);
    putAssetEdge(env, nearId, asset);
  },
];

/** Values that are easily confused: numbers that JavaScript rounds (R19), objects (R21). */
function oddValue(m: number, variant: number): unknown {
  if (m === 1) return parseExactly(`1234567890123456789${variant}`);
  if (m === 2) return { of: variant, in: { a: [parseExactly(`900719925474099${variant}7`)], b: variant } };
  return m === 3 ? [{ x: variant, y: 0 }] : variant;
}

/** Actions on collections that need no special treatment. */
const PLAIN_FEED_ACTIONS: Record<string, (env: EnvironmentModel, action: Action) => unknown> = Object.fromEntries(
  PLAIN_FEEDS.flatMap((kind) => [
    [
      kind,
      (env: EnvironmentModel, { n, variant }: Action) =>
        hasAsset(env, n) && putSample(env, kind, sampleId(kind, n), `a${n}`, { seen: variant }),
    ],
    [`remove ${kind}`, (env: EnvironmentModel, { n }: Action) => remove(env, kind, sampleId(kind, n))],
  ]),
);

/** Feeds and snapshots report these changes: any finished run mirrors them. */
const REPORTED = {
  ...PLAIN_FEED_ACTIONS,
  asset: (env, { n, variant }) =>
    isGone(env, n) || putAsset(env, `a${n}`, { kind: ASSET_KINDS[variant % 5], description: `d${variant}` }),
  unknownField: (env, { n, m, variant }) =>
    isGone(env, n) || putAsset(env, `a${n}`, { colour: oddValue(m, variant), shade: m }),
  /** No feed reports it, because nothing has changed (R21). */
  reverseMembers: (env) => {
    env.reversesMembers = !env.reversesMembers;
  },
  executionWithHugeCount: (env, { n, variant }) => {
    env.tests.has(`t${n}`) &&
      execute(env, `t${n}`, `t${n}-${env.executions.length}`, {
        sub_test_unique_id: `t${n}.0`,
        failure_count: oddValue(1, variant),
      });
  },
  /** Keys that differ from others only by their ending. */
  nearKey: (env, { n, m, variant }) => hasAsset(env, n) && NEAR_KEY_ACTIONS[variant]?.(env, `a${n}`, `t${n}`, m),
  removeNearKey: (env, { n, variant }) =>
    variant === 3
      ? removeAsset(env, `a${n}${env.keySuffix}`, 'lost')
      : remove(
          env,
          variant === 0 ? 'tests' : 'columns',
          variant === 0 ? `t${n}${env.keySuffix}` : `a${n}.c0${env.keySuffix}`,
        ),
  /** A change with a field of the wrong type (R20). */
  malformedChange: (env, { n, m, variant }) => {
    const [kind, id] = [kindAt(variant), idOf(variant, n, m)];
    const held = env[kind].get(id);
    if (held?.state !== 'live' || !isLiveOwner(env, held.item['asset_id'] ?? null)) return;
    makeMalformed(env, kind, id);
    put(env, kind, id, { description: `d${m}` });
  },
  repair: (env, { n }) => repairNth(env, n),
  column: (env, { n, m, variant }) =>
    hasAsset(env, n) && putColumn(env, `a${n}.c${m % 4}`, `a${n}`, { data_type: `t${variant}` }),
  test: (env, { n, m, variant }) => {
    // A test keeps its asset: if it moved to one that is later lost, it would be lost without a tombstone, too.
    const owner = env.tests.get(`t${n}`)?.item['asset_id'] ?? (variant === 3 ? null : `a${m}`);
    if (owner === null || env.assets.get(String(owner))?.state === 'live')
      putTest(env, `t${n}`, owner === null ? null : String(owner), { disabled: variant % 2 === 1, severity: `S${m}` });
  },
  columnEdges: (env, { n, m, variant }) =>
    putColumnEdges(env, `a${n}.c${m % 4}`, ['a0.c0', `a${m}.c1`, 'far'].slice(0, variant)),
  /** A new column with its first edges. */
  linkedColumn: (env, { n, m, variant }) => {
    const id = `a${n}.l${m}${variant}`;
    if (!hasAsset(env, n) || env.columns.has(id)) return;
    putColumn(env, id, `a${n}`);
    putColumnEdges(env, id, ['a0.c0', 'far'].slice(0, 1 + (variant % 2)));
  },
  /** The service may compute lineage after it writes the columns (R18). */
  lagEdges: (env, { variant }) => {
    env.edgeLag = variant > 0;
    if (!env.edgeLag) env.previousEdges.clear();
  },
  recreateInSameSecond: (env, { n, m, variant }) => {
    const kind = kindAt(variant);
    const id = idOf(variant, n, m);
    if (kind === 'assets' || isLiveOwner(env, env[kind].get(id)?.item['asset_id'])) recreateInSameSecond(env, kind, id);
  },
  assetEdge: (env, { n, m }) => putAssetEdge(env, `a${n}`, `a${m}`),
  removeAssetEdge: (env, { n, m }) => env.assetEdges.delete(`a${n}>a${m}`),
  execution: (env, { n, m, variant }) => {
    env.tests.has(`t${n}`) &&
      execute(env, `t${n}`, `t${n}-${env.executions.length}`, {
        sub_test_unique_id: `t${n}.${m % 2}`,
        status: ['PASS', 'FAIL', 'NEW', 'WARN'][variant],
      });
  },
  /** Reported up to six days after it ran, usually later than a newer one. */
  lateExecution: (env, { n, m, variant }) => {
    const start_time = new Date(Date.parse(env.now()) - (2 * variant * DAY + HOUR) * 1000).toISOString();
    env.tests.has(`t${n}`) &&
      execute(env, `t${n}`, `t${n}-${env.executions.length}`, { sub_test_unique_id: `t${n}.${m % 2}`, start_time });
  },
  /** Pages of more than 60, or 300, rows time out. */
  limitPageRows: (env, { n, variant }) =>
    env.maxPageRows.set(LIMITED_LISTS[n] ?? 'columns', variant % 2 === 0 ? 60 : 300),
  /** The list fails after its first page, for days. */
  breakScan: (env, { n }) => env.brokenScans.add(pathAt(n)),
  mendScan: (env, { n }) => env.brokenScans.delete(pathAt(n)),
  /** The history fails until `mendHistory`. */
  breakHistory: (env, { n, variant }) => env.brokenHistories.set(`t${n}`, variant % 2 === 0 ? 403 : 500),
  mendHistory: (env, { n }) => env.brokenHistories.delete(`t${n}`),
  score: (env, { n, variant }) => putScore(env, `a${n}`, variant / 4, { freshness: variant / 4, [`dim${variant}`]: 1 }),
  removeAsset: (env, { n, variant }) => removeAsset(env, `a${n}`, variant % 2 === 0 ? 'tombstone' : 'lost'),
  keepTombstones: (env, { variant }) => {
    env.keepsTombstones = variant % 2 === 0;
  },
  redeliver: (env, { variant }) => {
    env.redelivers = variant % 2 === 0;
  },
  /** The service may delete an edge together with its upstream column without touching the downstream one (R18). */
  dropEdges: (env, { variant }) => {
    env.dropsEdges = variant % 2 === 0;
  },
  /** Only the typed list returns the whole change, possibly late (R22). */
  moveTable: (env, { n, m, variant }) => {
    env.typedLag = m > 0;
    if (hasAsset(env, n) && env.assets.get(`a${n}`)?.item['kind'] === 'table')
      putAsset(env, `a${n}`, { kind: 'table', schema_name: `s${variant}` });
  },
  removeColumn: (env, { n, m }) => remove(env, 'columns', `a${n}.c${m % 4}`),
  removeTest: (env, { n }) => remove(env, 'tests', `t${n}`),
  /** Recreates a deleted column or test whose asset still exists. */
  restore: (env, { n, variant }) => {
    const kind = variant % 2 === 0 ? 'columns' : 'tests';
    const gone = [...env[kind]].filter(
      ([, { state, item }]) => state === 'tombstone' && isLiveOwner(env, item['asset_id']),
    );
    const [id] = gone[n % Math.max(1, gone.length)] ?? [];
    if (id !== undefined) put(env, kind, id, {});
  },
} satisfies Record<string, (env: EnvironmentModel, action: Action) => unknown>;

/** Changes of what the token may see, and untrusted times: the weekly scans mirror them (R10, R13, R18). */
const PERMISSIONS = {
  hide: (env, { n }) => env.hidden.add(`a${n}`),
  grant: (env, { n }) => env.hidden.delete(`a${n}`),
  /** An untrusted time counts as none: a scan replaces the row, a feed does not (R10). */
  stampInFuture: (env, { n, m, variant }) => stampInFuture(env, kindAt(variant), idOf(variant, n, m)),
} satisfies Record<string, (env: EnvironmentModel, action: Action) => unknown>;

/** Nothing reports these changes: only a scan mirrors them (R13). */
const SILENT = {
  ...PERMISSIONS,
  recreateAsset: (env, { n, variant }) => putAsset(env, `a${n}`, { kind: ASSET_KINDS[variant % 5] }),
  lose: (env, { n, m, variant }) => remove(env, kindAt(variant), idOf(variant, n, m), 'lost'),
  undelete: (env, { n, m, variant }) => undelete(env, kindAt(variant), idOf(variant, n, m), env.keepsTombstones),
  removeAssetOnly: (env, { n }) => removeAsset(env, `a${n}`, 'stay'),
  makeMalformed: (env, { n, m, variant }) => makeMalformed(env, kindAt(variant), idOf(variant, n, m)),
  unlist: (env) => {
    env.listed = false;
  },
  list: (env) => {
    env.listed = true;
  },
  /** So old that its time is the placeholder: no feed ever returns it. */
  addAncientColumn: (env, { n }) => {
    put(env, 'columns', `a${n}.old`, { asset_id: `a${n}`, name: 'old' });
    const held = env.columns.get(`a${n}.old`);
    if (held?.state === 'live') held.item['synced_at'] = '1970-01-01T00:00:00';
  },
} satisfies Record<string, (env: EnvironmentModel, action: Action) => unknown>;

/** Only scenarios use these, because they create many rows. */
const BULK = {
  /** Enough columns that losing them at once is held back (R14). */
  addManyColumns: (env, { n }) => {
    for (let i = 0; i < BULK_COLUMNS && hasAsset(env, n); i++) putColumn(env, `a${n}.x${i}`, `a${n}`);
  },
  /** An edge into each of the columns. */
  linkManyColumns: (env, { n }) => {
    for (let i = 0; i < BULK_COLUMNS; i++) putColumnEdges(env, `a${n}.x${i}`, ['a0.c0']);
  },
  /** Deletes their edges, while most edges that the token may see remain (R14). */
  unlinkManyColumns: (env, { n }) => {
    const shown = [...env.columnEdges.values()]
      .map(([, down]) => env.columns.get(down))
      .filter((column) => isShown(env, column));
    for (let i = 0; i < BULK_COLUMNS && shown.length > 2 * BULK_COLUMNS; i++) putColumnEdges(env, `a${n}.x${i}`, []);
  },
  loseManyColumns: (env, { n }) => {
    for (let i = 0; i < BULK_COLUMNS; i++) remove(env, 'columns', `a${n}.x${i}`, 'lost');
  },
} satisfies Record<string, (env: EnvironmentModel, action: Action) => unknown>;

function isShown(env: EnvironmentModel, column: Entity | undefined): boolean {
  return column?.state === 'live' && !env.hidden.has(String(column.item['asset_id']));
}

const ACTIONS: Record<string, (env: EnvironmentModel, action: Action) => unknown> = { ...REPORTED, ...SILENT, ...BULK };

export function applyAction(world: World, action: Action, where = 'e1'): void {
  ACTIONS[action.name]?.(world.environment(where), action);
}

/** Applies the action now, but makes it visible up to 20 minutes later. */
export function applyActionLate(world: World, action: Action): void {
  world.commitLate(60 + (action.variant * HOUR) / 9, () => applyAction(world, action));
}

/** The actions that a history draws from. */
export type ActionSet = 'reported' | 'permissions' | 'all';

const ACTION_SETS = {
  reported: REPORTED,
  permissions: { ...REPORTED, ...PERMISSIONS },
  all: { ...REPORTED, ...SILENT },
};

export function actions(set: ActionSet): fc.Arbitrary<Action> {
  const names = Object.keys(ACTION_SETS[set]);
  const small = fc.nat({ max: 3 });
  return fc.record({ name: fc.constantFrom(...names), n: small, m: small, variant: fc.nat({ max: 3 }) });
}

function isLiveOwner(env: EnvironmentModel, id: unknown): boolean {
  return id === null || env.assets.get(String(id))?.state === 'live';
}

function hasAsset(env: EnvironmentModel, n: number): boolean {
  return env.assets.get(`a${n}`)?.state === 'live';
}

/** Whether the asset existed and was removed. Its return would be reported, that of its children would not. */
function isGone(env: EnvironmentModel, n: number): boolean {
  return env.assets.has(`a${n}`) && !hasAsset(env, n);
}

const pathAt = (n: number): string => FEED_ENTRIES[n % FEED_ENTRIES.length]?.path.join('/') ?? '';

const kindAt = (variant: number): Kind => FEED_STREAMS[variant % FEED_STREAMS.length] ?? 'assets';

const IDS: Partial<Record<Kind, (n: number, m: number) => string>> = {
  assets: (n) => `a${n}`,
  columns: (n, m) => `a${n}.c${m % 4}`,
  tests: (n) => `t${n}`,
};

function idOf(variant: number, n: number, m: number): string {
  const kind = kindAt(variant);
  return IDS[kind]?.(n, m) ?? sampleId(kind, n);
}

export const sampleId = (kind: Kind, n: number): string => `${kind}${n}`;
