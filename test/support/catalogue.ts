import { CATALOGUE, type CollectionName } from '../../src/streams/catalogue.ts';

/** What tests need of the catalogue by name: a new collection is in these lists at once. */

const entriesOf = (method: string) => CATALOGUE.filter((entry) => entry.method === method);

/** The streams whose rows stay when they are deleted (R11). */
export const FEED_STREAMS: readonly CollectionName[] = entriesOf('feed').map(({ name }) => name);

export const FEED_TABLES: readonly string[] = entriesOf('feed').map(({ table }) => table);

export const SNAPSHOT_STREAMS: readonly CollectionName[] = entriesOf('snapshot').map(({ name }) => name);

/** Tables whose rows are kept for ever (R17). */
const HISTORY_TABLES: readonly string[] = CATALOGUE.flatMap(({ historyTables = [] }) =>
  historyTables.map(({ table }) => table),
);

/** Every table that streams write, the staged copies aside. */
export const STREAM_TABLES: readonly string[] = [
  ...new Set([
    ...CATALOGUE.flatMap(({ table, childTables = [] }) => [table, ...childTables.map((part) => part.table)]),
    ...HISTORY_TABLES,
  ]),
];

/** The least requests of an environment in which nothing changed: two for each feed, one for each list of a snapshot (R22). */
export const LEAST_REQUESTS: readonly string[] = [
  ...entriesOf('feed').flatMap(({ path }) => [path, path]),
  ...entriesOf('snapshot')
    .filter(({ hourly }) => !hourly)
    .flatMap(({ path, scanQueries }) => scanQueries.map(() => path)),
]
  .map((path) => path.join('/'))
  .sort();
