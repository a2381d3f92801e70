import { parentsOf, type Stream, type StreamParent } from '../core/stream.ts';
import type { CollectionEndpoint, EndpointFilter } from './endpoint.ts';
import type { CatalogueEntry, CollectionEntry } from './entry.ts';

/** The streams in the order of their entries, with their marks. @throws Error that names inconsistent entries */
export function buildCatalogue<Name extends string>(entries: readonly CollectionEntry<Name>[]): CatalogueEntry<Name>[] {
  const inEntries = entries.flatMap((entry) => problemsOfEntry(entry, entries));
  const problems = [...twice(entries), ...inEntries, ...cycles(entries)];
  if (problems.length > 0) throw new Error(`the catalogue is inconsistent: ${problems.join('; ')}`);
  return entries.map((entry) => ({ ...entry, marks: marksOf(entry, entries) }));
}

/** The marks that this stream makes for the streams that depend on its rows. */
function marksOf(parent: CollectionEntry, entries: readonly CollectionEntry[]): Stream['marks'] {
  if (!decidesWhichRowsExist(parent)) return [];
  const [id] = parent.key;
  // A stream that reads only marked rows gets a mark for each row that is inserted, updated or restored (R18, R22).
  const followers = entries.filter(({ parentTable }) => parentTable?.table === parent.table);
  // A stream that can look up the rows of a parent gets a mark for each parent that was deleted or came back (R13).
  const children = entries.filter((entry) => entry.parent?.table === parent.table);
  return [
    ...followers.map(({ name, subtype }) => {
      return { stream: name, id, on: 'shown', ...(subtype === undefined ? {} : { where: subtype }) } as const;
    }),
    ...children.map(({ name }) => ({ stream: name, id, on: 'moved' }) as const),
  ];
}

/** A stream that fills in rows of another makes none itself. */
const decidesWhichRowsExist = ({ subtype }: CollectionEntry): boolean => subtype === undefined;

function twice(entries: readonly CollectionEntry[]): string[] {
  const names = entries.map(({ name }) => name);
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))].map((name) => `${name} is in it twice`);
}

function problemsOfEntry(entry: CollectionEntry, entries: readonly CollectionEntry[]): string[] {
  const { name, dependencies, fields, key } = entry;
  const parents = parentsOf(entry);
  const problems: string[] = [];
  for (const each of dependencies.filter((one) => !entries.some((other) => other.name === one)))
    problems.push(`${name} depends on ${each}, which is not in it`);
  for (const table of [...parents, entry.parentTable].flatMap((parent) => parent?.table ?? []))
    if (!entries.some((other) => other.table === table && decidesWhichRowsExist(other)))
      problems.push(`${name} belongs to rows of ${table}, which no stream writes`);
  // A catalogue in plain JavaScript has no types to refuse these.
  if (entry.parent !== undefined && entry.parents !== undefined) problems.push(`${name} has a second parent`);
  if (entry.method === 'marked' && entry.parentTable === undefined) problems.push(`${name} has no parent table`);
  for (const field of [...key, ...parents.map(({ by }) => by)].filter((one) => fields[one] === undefined))
    problems.push(`${name} has no field ${field}`);
  return entry.serve === false ? problems : [...problems, ...problemsOfEndpoint(entry, entry.serve)];
}

function problemsOfEndpoint(entry: CollectionEntry, endpoint: CollectionEndpoint): string[] {
  const { name, fields, path } = entry;
  const problems = fieldsServed(endpoint)
    .filter((field) => fields[field] === undefined)
    .map((field) => `${name} is served by ${field}, which is not one of its fields`);
  const byParent = endpoint.disabled === 'parent' || Object.values(endpoint.filters).some(({ by }) => by === 'parent');
  if (byParent && parentsOf(entry).length === 0) problems.push(`${name} is served by its parent, and has none`);
  if (path.includes('{id}') !== (endpoint.idInPath !== undefined))
    problems.push(`${name} needs both {id} in its path and an idInPath, or neither`);
  if (endpoint.assets === undefined && !leadsToAssets(entry))
    problems.push(`${name} is served, and nothing says which assets a reader has to see to see its rows`);
  return problems;
}

/** Every field of the rows that an endpoint names. */
function fieldsServed(endpoint: CollectionEndpoint): string[] {
  const { assets = [], shownWhile = [], weekOf, idInPath, window, get, orders = {}, emptyIsNull = [] } = endpoint;
  return [
    ...Object.values(endpoint.filters).flatMap(fieldsFiltered),
    ...[...assets, ...emptyIsNull, ...shownWhile.map(({ by }) => by), ...Object.values(orders).flat()],
    ...[weekOf, idInPath, window, get?.field].flatMap((field) => field ?? []),
    ...(endpoint.disabled === 'row' ? ['disabled'] : []),
  ];
}

function fieldsFiltered(filter: EndpointFilter): readonly string[] {
  if (filter.by === 'field') return [filter.field];
  if (filter.by === 'ends') return filter.fields;
  return filter.by === 'parent' ? [] : [filter.by];
}

/** Rows under an id in the path are visible to whoever sees the row with that id. */
const leadsToAssets = (entry: CollectionEntry): boolean =>
  entry.table === 'assets' || entry.path.includes('{id}') || parentsOf(entry).some(hangsOnAssets);

const hangsOnAssets = ({ table, parents = [] }: StreamParent): boolean =>
  table === 'assets' || parents.some(hangsOnAssets);

function cycles(entries: readonly CollectionEntry[]): string[] {
  const stuck = waitForEver(entries).map(({ name }) => name);
  return stuck.length === 0 ? [] : [`${stuck.join(', ')} wait for each other`];
}

/** What remains after repeatedly removing the streams that wait for none of the others. */
function waitForEver(entries: readonly CollectionEntry[]): readonly CollectionEntry[] {
  const waiting = entries.filter(({ dependencies }) => entries.some(({ name }) => dependencies.includes(name)));
  return waiting.length === entries.length ? entries : waitForEver(waiting);
}
