import type {
  Checkpoint,
  ListRead,
  LookupRead,
  Read,
  ReadCheckpoint,
  Round,
  RoundCheckpoint,
} from '../../src/core/checkpoint.ts';
import { NO_PROGRESS } from '../../src/core/checkpoint.ts';
import type { Context, DecisionOptions } from '../../src/core/context.ts';
import { newRead, newRound } from '../../src/core/decide/round.ts';
import { type DecodedRow, decodePage } from '../../src/core/decode/decode.ts';
import type { RoundFacts } from '../../src/core/ports/destination.ts';
import type { Query } from '../../src/core/ports/source.ts';
import type { StreamName } from '../../src/core/stream.ts';
import { assetHealthScores } from '../../src/streams/asset-health-scores.ts';
import { assetLineage } from '../../src/streams/asset-lineage.ts';
import { assets } from '../../src/streams/assets.ts';
import { biAssets } from '../../src/streams/bi-assets.ts';
import { buildCatalogue } from '../../src/streams/build-catalogue.ts';
import { columnLineage } from '../../src/streams/column-lineage.ts';
import { columns } from '../../src/streams/columns.ts';
import type { CatalogueEntry } from '../../src/streams/entry.ts';
import { latestTestExecutions } from '../../src/streams/latest-test-executions.ts';
import { tableAssets } from '../../src/streams/table-assets.ts';
import { testExecutions } from '../../src/streams/test-executions.ts';
import { tests } from '../../src/streams/tests.ts';
import { DECISION_OPTIONS } from '../support/decision-options.ts';

/** The run's time in these tests, and times around it. The overlap reaches back to 03:10. */
export const T = '2026-11-20T04:10:00.000000Z';
export const YESTERDAY = '2026-11-19T04:10:00.000000Z';
export const LAST_WEEK = '2026-11-13T04:10:00.000000Z';

/** A fixed part of the catalogue: a new collection adds no marks here, so it breaks no test. */
const FIXTURE_CATALOGUE = buildCatalogue<string>([
  assets,
  tableAssets,
  biAssets,
  columns,
  tests,
  assetLineage,
  columnLineage,
  latestTestExecutions,
  assetHealthScores,
  testExecutions,
]);

export function streamOf(name: StreamName): CatalogueEntry {
  const found = FIXTURE_CATALOGUE.find((entry) => entry.name === name);
  if (found === undefined) throw new Error(`no stream ${name}`);
  return found;
}

type Circumstances = Partial<Omit<Context, 'options'>> & { readonly options?: Partial<DecisionOptions> };

/** Run 5, which is its own cycle. */
export function context({ options, ...given }: Circumstances = {}): Context {
  const serverTime = given.serverTime === undefined ? T : given.serverTime;
  return {
    run: 5,
    cycle: 5,
    serverTime,
    latestServerTime: serverTime,
    newestReading: serverTime,
    ...given,
    options: { ...DECISION_OPTIONS, ...options },
  };
}

/** Scanned and brought up to date yesterday, in cycle 4. */
export function checkpoint(given: Partial<Checkpoint> = {}): Checkpoint {
  const times = { watermark: YESTERDAY, scannedAt: YESTERDAY, scanEndedAt: YESTERDAY };
  return { ...NO_PROGRESS, ...times, scanEndedCycle: 4, finishedCycle: 4, ...given };
}

/** The same, in a round. */
export function inRound(given: Partial<Round> = {}, beside: Partial<Checkpoint> = {}): RoundCheckpoint {
  return { ...checkpoint(beside), round: round(given) };
}

/** The same, with a read in progress. */
export function inRead(
  { read: given, ...ofRound }: Partial<Omit<Round, 'read'>> & { readonly read: Read },
  beside: Partial<Checkpoint> = {},
): ReadCheckpoint {
  return { ...checkpoint(beside), round: { ...round(ofRound), read: given } };
}

/** A round of increments, begun in run 5. */
export function round(given: Partial<Round> = {}): Round {
  const plan = { mode: 'feed', reason: 'increment', steps: [] } as const;
  return { ...newRound(plan, { run: 5, cycle: 5 }, { hasRows: false, lastMark: 0 }), ...given };
}

export function walk(as: ListRead['as'], query: Query = { limit: 2000 }): ListRead {
  return { do: 'list', as, query };
}

export function ask(about: LookupRead['about'], given: Partial<LookupRead> = {}): LookupRead {
  return {
    do: 'look-up',
    about,
    after: '',
    asked: 0,
    ids: [],
    pendingIds: [],
    variant: 0,
    firstRead: 0,
    before: null,
    ...given,
  };
}

/** Read number 1, begun at T in run 5, at its first page. */
export function read(given: Partial<Read> = {}): Read {
  const plan = { as: 'scan', path: ['assets'], query: { limit: 2000 } } as const;
  return { ...newRead(plan, 1, context()), ...given };
}

export function facts(given: Partial<RoundFacts> = {}): RoundFacts {
  return {
    hasRows: true,
    marks: { inside: 0, outside: 0, isDue: false },
    hasRejected: false,
    hasHeld: false,
    lastMark: 0,
    isParentScanned: true,
    histories: { count: 0, latestReadAt: null },
    ...given,
  };
}

/** Items as the catalogue decodes them. It must accept all of them. */
export function decoded(stream: CatalogueEntry, ...items: object[]): DecodedRow[] {
  const { rows, rejected } = decodePage(stream, items);
  if (rejected.length > 0) throw new Error(rejected[0]?.reason);
  return [...rows];
}

/** A column as the service sends it. */
export function column(id: string, synced_at: string | null, more: object = {}): object {
  return { id, asset_id: 'a', name: id, synced_at, ...more };
}
