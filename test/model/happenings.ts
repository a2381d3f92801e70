import fc from 'fast-check';
import { parseExactly } from '../../src/core/json.ts';
import { FEED_ENTRIES, FEED_STREAMS, PLAIN_FEEDS } from '../support/catalogue.ts';
import {
  execute,
  type Kind,
  type Place,
  put,
  putAsset,
  putAssetEdge,
  putColumn,
  putColumnEdges,
  putSample,
  putScore,
  putTest,
  recreateAtOnce,
  remove,
  removeAsset,
  sendAhead,
  spoil,
  type Thing,
  undelete,
  unspoil,
} from './place.ts';
import { DAY, HOUR, type World } from './world.ts';

/** One thing that happens to the world: what, to which of a few objects, and how. */
export interface Happening {
  readonly what: keyof typeof HAPPENINGS;
  readonly n: number;
  readonly m: number;
  readonly how: number;
}

const CROWD = 60;
const KINDS = ['table', 'bi', 'etl', 'table', 'neuland'] as const;
const HEAVY = ['columns', 'tests', 'asset-lineage', 'executions'] as const;

const TWINS: readonly ((place: Place, asset: string, test: string, m: number) => void)[] = [
  (p, asset, test) => putTest(p, `${test}${p.twinEnding}`, asset),
  (p, asset, _, m) => putColumn(p, `${asset}.c0${p.twinEnding}`, asset, { data_type: `t${m}` }),
  (p, asset) => putColumnEdges(p, `${asset}.c0${p.twinEnding}`, ['a0.c0', `a0.c0${p.twinEnding}`]),
  (p, asset) => {
    const twin = `${asset}${p.twinEnding}`;
    putAsset(p, twin);
    putColumn(p, `${twin}.c0`, twin);
    putAssetEdge(p, twin, asset);
  },
];

/** Values that are easily taken for others: numbers that JavaScript rounds (R19), objects (R21). */
function oddValue(m: number, how: number): unknown {
  if (m === 1) return parseExactly(`1234567890123456789${how}`);
  if (m === 2) return { of: how, in: { a: [parseExactly(`900719925474099${how}7`)], b: how } };
  return m === 3 ? [{ x: how, y: 0 }] : how;
}

/** What happens to the rows of a collection that nothing here knows by name. */
const PLAIN: Record<string, (place: Place, happening: Happening) => unknown> = Object.fromEntries(
  PLAIN_FEEDS.flatMap((kind) => [
    [
      kind,
      (p: Place, { n, how }: Happening) =>
        hasAsset(p, n) && putSample(p, kind, sampleId(kind, n), `a${n}`, { seen: how }),
    ],
    [`${kind} goes`, (p: Place, { n }: Happening) => remove(p, kind, sampleId(kind, n))],
  ]),
);

/** Told of by feeds and snapshots: true after any finished run. */
const TOLD = {
  ...PLAIN,
  asset: (p, { n, how }) => isGone(p, n) || putAsset(p, `a${n}`, { kind: KINDS[how % 5], description: `d${how}` }),
  unknownField: (p, { n, m, how }) => isGone(p, n) || putAsset(p, `a${n}`, { colour: oddValue(m, how), shade: m }),
  /** No feed tells of it, and nothing has changed (R21). */
  membersTurn: (p) => {
    p.turned = !p.turned;
  },
  hugeCount: (p, { n, how }) => {
    p.tests.has(`t${n}`) &&
      execute(p, `t${n}`, `t${n}-${p.executions.length}`, {
        sub_test_unique_id: `t${n}.0`,
        failure_count: oddValue(1, how),
      });
  },
  /** Keys that are another's, but for their ending. */
  twin: (p, { n, m, how }) => hasAsset(p, n) && TWINS[how]?.(p, `a${n}`, `t${n}`, m),
  twinGoes: (p, { n, how }) =>
    how === 3
      ? removeAsset(p, `a${n}${p.twinEnding}`, 'lost')
      : remove(p, how === 0 ? 'tests' : 'columns', how === 0 ? `t${n}${p.twinEnding}` : `a${n}.c0${p.twinEnding}`),
  /** A change that comes with a field nobody can take (R20). */
  spoiltChange: (p, { n, m, how }) => {
    const [kind, id] = [kindAt(how), idOf(how, n, m)];
    const held = p[kind].get(id);
    if (held?.state !== 'live' || !isLiveOwner(p, held.item['asset_id'] ?? null)) return;
    spoil(p, kind, id);
    put(p, kind, id, { description: `d${m}` });
  },
  comesRight: (p, { n }) => unspoil(p, n),
  column: (p, { n, m, how }) => hasAsset(p, n) && putColumn(p, `a${n}.c${m % 4}`, `a${n}`, { data_type: `t${how}` }),
  test: (p, { n, m, how }) => {
    // One that moved to an asset which then went without a word about its tests would be lost without a word, too.
    const owner = p.tests.get(`t${n}`)?.item['asset_id'] ?? (how === 3 ? null : `a${m}`);
    if (owner === null || p.assets.get(String(owner))?.state === 'live')
      putTest(p, `t${n}`, owner === null ? null : String(owner), { disabled: how % 2 === 1, severity: `S${m}` });
  },
  columnEdges: (p, { n, m, how }) => putColumnEdges(p, `a${n}.c${m % 4}`, ['a0.c0', `a${m}.c1`, 'far'].slice(0, how)),
  /** A new column, with the first edges that it ever has. */
  linkedColumn: (p, { n, m, how }) => {
    const id = `a${n}.l${m}${how}`;
    if (!hasAsset(p, n) || p.columns.has(id)) return;
    putColumn(p, id, `a${n}`);
    putColumnEdges(p, id, ['a0.c0', 'far'].slice(0, 1 + (how % 2)));
  },
  /** The service may compute lineage after it has written the columns (R18). */
  edgesLag: (p, { how }) => {
    p.edgeLag = how > 0;
    if (!p.edgeLag) p.olderEdges.clear();
  },
  recreated: (p, { n, m, how }) => {
    const kind = kindAt(how);
    const id = idOf(how, n, m);
    if (kind !== 'assets' && isLiveOwner(p, p[kind].get(id)?.item['asset_id'])) recreateAtOnce(p, kind, id);
  },
  assetEdge: (p, { n, m }) => putAssetEdge(p, `a${n}`, `a${m}`),
  noAssetEdge: (p, { n, m }) => p.assetEdges.delete(`a${n}>a${m}`),
  execution: (p, { n, m, how }) => {
    p.tests.has(`t${n}`) &&
      execute(p, `t${n}`, `t${n}-${p.executions.length}`, {
        sub_test_unique_id: `t${n}.${m % 2}`,
        status: ['PASS', 'FAIL', 'NEW', 'WARN'][how],
      });
  },
  /** Reported up to six days after it ran: mostly behind the latest one. */
  lateExecution: (p, { n, m, how }) => {
    const start_time = new Date(Date.parse(p.now()) - (2 * how * DAY + HOUR) * 1000).toISOString();
    p.tests.has(`t${n}`) &&
      execute(p, `t${n}`, `t${n}-${p.executions.length}`, { sub_test_unique_id: `t${n}.${m % 2}`, start_time });
  },
  /** Pages of more than 60 rows, or of 300, take the service too long. */
  growsHeavy: (p, { n, how }) => p.heavy.set(HEAVY[n] ?? 'columns', how % 2 === 0 ? 60 : 300),
  /** A page of a list cannot be made, for days. */
  scanBreaks: (p, { n }) => p.brokenScans.add(pathAt(n)),
  scanMends: (p, { n }) => p.brokenScans.delete(pathAt(n)),
  /** For good, or until it is mended. */
  historyBreaks: (p, { n, how }) => p.brokenHistories.set(`t${n}`, how % 2 === 0 ? 403 : 500),
  historyMends: (p, { n }) => p.brokenHistories.delete(`t${n}`),
  score: (p, { n, how }) => putScore(p, `a${n}`, how / 4, { freshness: how / 4, [`dim${how}`]: 1 }),
  assetGoes: (p, { n, how }) => removeAsset(p, `a${n}`, how % 2 === 0 ? 'tombstone' : 'lost'),
  tombstonesLinger: (p, { how }) => {
    p.lingering = how % 2 === 0;
  },
  feedsRepeat: (p, { how }) => {
    p.repeating = how % 2 === 0;
  },
  /** The service may drop an edge along with its upstream column, without touching the downstream one (R18). */
  edgesCut: (p, { how }) => {
    p.cutsEdges = how % 2 === 0;
  },
  /** Only the typed list shows the change whole, and it may come to it late (R22). */
  tableMoves: (p, { n, m, how }) => {
    p.typedLag = m > 0;
    if (hasAsset(p, n) && p.assets.get(`a${n}`)?.item['kind'] === 'table')
      putAsset(p, `a${n}`, { kind: 'table', schema_name: `s${how}` });
  },
  columnGoes: (p, { n, m }) => remove(p, 'columns', `a${n}.c${m % 4}`),
  testGoes: (p, { n }) => remove(p, 'tests', `t${n}`),
  /** A column or a test that was deleted is there again; its asset never went. */
  comesBack: (p, { n, how }) => {
    const kind = how % 2 === 0 ? 'columns' : 'tests';
    const gone = [...p[kind]].filter(
      ([, { state, item }]) => state === 'tombstone' && isLiveOwner(p, item['asset_id']),
    );
    const [id] = gone[n % Math.max(1, gone.length)] ?? [];
    if (id !== undefined) put(p, kind, id, {});
  },
} satisfies Record<string, (place: Place, happening: Happening) => unknown>;

/** The token loses sight of an asset, or gains it, or a time is nonsense: true after the weekly scans, `--full` or not (R10, R13, R18). */
const SIGHT = {
  hide: (p, { n }) => p.hidden.add(`a${n}`),
  grant: (p, { n }) => p.hidden.delete(`a${n}`),
  /** A time that is not believed counts as none: a feed does not replace a row by it, a scan does (R10). */
  fromFuture: (p, { n, m, how }) => sendAhead(p, kindAt(how), idOf(how, n, m)),
} satisfies Record<string, (place: Place, happening: Happening) => unknown>;

/** Told of by nothing: true after a scan (R13). */
const UNTOLD = {
  ...SIGHT,
  reborn: (p, { n, how }) => putAsset(p, `a${n}`, { kind: KINDS[how % 5] }),
  lost: (p, { n, m, how }) => remove(p, kindAt(how), idOf(how, n, m), 'lost'),
  undelete: (p, { n, m, how }) => undelete(p, kindAt(how), idOf(how, n, m)),
  stays: (p, { n }) => removeAsset(p, `a${n}`, 'stay'),
  spoil: (p, { n, m, how }) => spoil(p, kindAt(how), idOf(how, n, m)),
  unlist: (p) => {
    p.listed = false;
  },
  list: (p) => {
    p.listed = true;
  },
  /** So old that it has the placeholder: a feed never shows it. */
  ancient: (p, { n }) => {
    put(p, 'columns', `a${n}.old`, { asset_id: `a${n}`, name: 'old' });
    const held = p.columns.get(`a${n}.old`);
    if (held?.state === 'live') held.item['synced_at'] = '1970-01-01T00:00:00';
  },
} satisfies Record<string, (place: Place, happening: Happening) => unknown>;

/** Drawn in a sequence of their own alone: they make many rows. */
const MASSES = {
  /** So many that losing them at once is held back (R14). */
  crowd: (p, { n }) => {
    for (let i = 0; i < CROWD && hasAsset(p, n); i++) putColumn(p, `a${n}.x${i}`, `a${n}`);
  },
  /** An edge into each column of a crowd. */
  crowdLinked: (p, { n }) => {
    for (let i = 0; i < CROWD; i++) putColumnEdges(p, `a${n}.x${i}`, ['a0.c0']);
  },
  /** Its edges go, and most of the edges that the token sees stay (R14). */
  crowdUnlinked: (p, { n }) => {
    const shown = [...p.columnEdges.values()]
      .map(([, down]) => p.columns.get(down))
      .filter((column) => isShown(p, column));
    for (let i = 0; i < CROWD && shown.length > 2 * CROWD; i++) putColumnEdges(p, `a${n}.x${i}`, []);
  },
  crowdLost: (p, { n }) => {
    for (let i = 0; i < CROWD; i++) remove(p, 'columns', `a${n}.x${i}`, 'lost');
  },
} satisfies Record<string, (place: Place, happening: Happening) => unknown>;

function isShown(place: Place, column: Thing | undefined): boolean {
  return column?.state === 'live' && !place.hidden.has(String(column.item['asset_id']));
}

const HAPPENINGS: Record<string, (place: Place, happening: Happening) => unknown> = { ...TOLD, ...UNTOLD, ...MASSES };

/** What there is at first: four assets with all that belongs to them. */
export function populate(place: Place): void {
  for (const n of [0, 1, 2, 3]) {
    putAsset(place, `a${n}`, { kind: KINDS[n] });
    for (const m of [0, 1]) putColumn(place, `a${n}.c${m}`, `a${n}`);
    putTest(place, `t${n}`, `a${n}`, { disabled: n === 3 });
    execute(place, `t${n}`, `t${n}-first`);
    for (const kind of PLAIN_FEEDS) putSample(place, kind, sampleId(kind, n), `a${n}`);
    putScore(place, `a${n}`, 0.5);
  }
  for (const n of [1, 2, 3]) {
    putColumnEdges(place, `a${n}.c0`, ['a0.c0', 'far']);
    putAssetEdge(place, 'a0', `a${n}`);
  }
}

export function happen(world: World, happening: Happening, where = 'e1'): void {
  HAPPENINGS[happening.what]?.(world.place(where), happening);
}

/** What happens, visible only up to 20 minutes after its stamp. */
export function happenLate(world: World, happening: Happening): void {
  world.later(60 + (happening.how * HOUR) / 9, () => happen(world, happening));
}

/** What a history is made of. */
export type Which = 'told' | 'sight' | 'any';

const DRAWN = { told: TOLD, sight: { ...TOLD, ...SIGHT }, any: { ...TOLD, ...UNTOLD } };

export function happenings(which: Which): fc.Arbitrary<Happening> {
  const names = Object.keys(DRAWN[which]);
  const small = fc.nat({ max: 3 });
  return fc.record({ what: fc.constantFrom(...names), n: small, m: small, how: fc.nat({ max: 3 }) });
}

function isLiveOwner(place: Place, id: unknown): boolean {
  return id === null || place.assets.get(String(id))?.state === 'live';
}

function hasAsset(place: Place, n: number): boolean {
  return place.assets.get(`a${n}`)?.state === 'live';
}

/** An asset that was there before and is gone: its coming back is told of, that of its silent children is not. */
function isGone(place: Place, n: number): boolean {
  return place.assets.has(`a${n}`) && !hasAsset(place, n);
}

const pathAt = (n: number): string => FEED_ENTRIES[n % FEED_ENTRIES.length]?.path.join('/') ?? '';

const kindAt = (how: number): Kind => FEED_STREAMS[how % FEED_STREAMS.length] ?? 'assets';

const IDS: Partial<Record<Kind, (n: number, m: number) => string>> = {
  assets: (n) => `a${n}`,
  columns: (n, m) => `a${n}.c${m % 4}`,
  tests: (n) => `t${n}`,
};

function idOf(how: number, n: number, m: number): string {
  const kind = kindAt(how);
  return IDS[kind]?.(n, m) ?? sampleId(kind, n);
}

const sampleId = (kind: Kind, n: number): string => `${kind}${n}`;
