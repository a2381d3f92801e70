import type { FeedStream, StreamName } from '../../src/core/stream.ts';
import { CATALOGUE, type CollectionName, type FeedName } from '../../src/streams/catalogue.ts';
import type { CatalogueEntry } from '../../src/streams/entry.ts';

/** Lists derived from the catalogue. A new collection appears in them automatically. */

const entriesOf = (method: string) => CATALOGUE.filter((entry) => entry.method === method);

const isFeed = (entry: CatalogueEntry): entry is CatalogueEntry<FeedName> & FeedStream => entry.method === 'feed';

/** The streams whose deleted rows stay in the table (R11). */
export const FEED_ENTRIES = CATALOGUE.filter(isFeed);

export const FEED_STREAMS: readonly FeedName[] = FEED_ENTRIES.map(({ name }) => name);

/** The feed streams whose rows belong to assets (R13). */
export const STREAMS_OF_ASSETS: readonly FeedName[] = FEED_ENTRIES.filter(
  ({ parent }) => parent?.table === 'assets',
).map(({ name }) => name);

/** The feed streams that need nothing but their samples in tests. */
export const PLAIN_FEEDS: readonly FeedName[] = FEED_STREAMS.filter(
  (name) => !['assets', 'columns', 'tests'].includes(name),
);

export function entryNamed(name: StreamName): CatalogueEntry<CollectionName> {
  const entry = CATALOGUE.find((each) => each.name === name);
  if (entry === undefined) throw new Error(`no stream ${name}`);
  return entry;
}

/** The paths of an environment's lists. */
export const LIST_PATHS: readonly string[] = CATALOGUE.map(({ path }) => path)
  .filter((path) => !path.includes('{id}'))
  .map((path) => path.join('/'));

export const FEED_TABLES: readonly string[] = FEED_ENTRIES.map(({ table }) => table);

/** The streams whose rows are staged (R16, R18). */
export const STAGED_STREAMS: readonly CollectionName[] = CATALOGUE.filter(({ staged }) => staged !== undefined).map(
  ({ name }) => name,
);

/** The streams that can be scanned. */
export const SCANNED_STREAMS: readonly CollectionName[] = CATALOGUE.filter(
  ({ method }) => method === 'feed' || method === 'marked',
).map(({ name }) => name);

/** The streams that are read without `--history`. */
export const USUAL_STREAMS: readonly CollectionName[] = CATALOGUE.filter(({ optional }) => !optional).map(
  ({ name }) => name,
);

/** How many requests read every row of an environment, or only every key, if each list has one page. */
export const WHOLE_REQUESTS = {
  rows: scansOf(CATALOGUE),
  ids: scansOf(CATALOGUE.filter(({ subtype }) => subtype === undefined)),
};

function scansOf(entries: readonly CatalogueEntry[]): number {
  return entries.filter(({ optional }) => !optional).flatMap(({ scanQueries }) => scanQueries).length;
}

/** The tables of the streams that every run reads, each once. */
export const TABLES_OF_EVERY_RUN: readonly string[] = [
  ...new Set(CATALOGUE.filter(({ hourly, optional }) => !hourly && !optional).map(({ table }) => table)),
];

export const SNAPSHOT_STREAMS: readonly CollectionName[] = entriesOf('snapshot').map(({ name }) => name);

/** Tables whose rows are never deleted (R17). */
const HISTORY_TABLES: readonly string[] = CATALOGUE.flatMap(({ historyTables = [] }) =>
  historyTables.map(({ table }) => table),
);

/** Every table that streams write, without the staging tables. */
export const STREAM_TABLES: readonly string[] = [
  ...new Set([
    ...CATALOGUE.flatMap(({ table, childTables = [] }) => [table, ...childTables.map((part) => part.table)]),
    ...HISTORY_TABLES,
  ]),
];

/** The requests for an unchanged environment: two per feed, one per list of a snapshot (R22). */
export const LEAST_REQUESTS: readonly string[] = [
  ...entriesOf('feed').flatMap(({ path }) => [path, path]),
  ...entriesOf('snapshot')
    .filter(({ hourly }) => !hourly)
    .flatMap(({ path, scanQueries }) => scanQueries.map(() => path)),
]
  .map((path) => path.join('/'))
  .sort();
