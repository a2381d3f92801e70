import type { SeenKeys } from '../../core/ports/destination.ts';
import type { Stream } from '../../core/stream.ts';
import { fromClock, tableOf, whereLive, whereSeenKey, whereStream } from './conditions.ts';
import {
  execute,
  type MirrorScope,
  type NotedKeys,
  type NotedPage,
  rows,
  run,
  type SqlStatements,
} from './statements.ts';
import { list, nameOf, quote } from './tables.ts';

/** The read number that ties are stored under: no read has it, so no restart discards them (R7, R10). */
export const TIES = -1;

/** Records keys that a read returned (R12). */
export function noteSeen(scope: MirrorScope, stream: Stream, { keys, readNumber }: SeenKeys): void {
  if (keys.length === 0) return;
  const { envId, noted } = scope;
  noted.pages.push({ envId, stream: stream.name, readNumber, keys: keysAsJson(keys), isLoaded: false });
}

/** Writes the recorded keys to `seen_pages`. */
export function* writeNoted(noted: NotedKeys): SqlStatements<void> {
  const sql = 'insert into seen_pages (env_id, stream, read_number, keys) values (@envId, @stream, @readNumber, @keys)';
  for (const { isLoaded: _, ...page } of noted.pages) yield { sql, values: page, isUnanswered: true };
  noted.pages = [];
}

/** A commit with more recorded keys doesn't wait for others: the pages they came from take several times the memory. */
const MAX_CHARACTERS = 2_000_000;

export function exceedsNoteLimit({ pages }: NotedKeys): boolean {
  return pages.reduce((sum, { keys }) => sum + keys.length, 0) > MAX_CHARACTERS;
}

/** Keys as JSON: each is an array of two parts; the second is empty for a key of one part. */
export function keysAsJson(seenKeys: SeenKeys['keys']): string {
  return JSON.stringify(seenKeys.map(([first = '', second = '']) => [first, second]));
}

/** What a stream has in the tables that a round works with. */
export interface WorkTables {
  readonly hasSeen: boolean;
  /** Whether `findMissing` has filled `missing_keys`, and with any rows. */
  readonly isFound: boolean;
  readonly hasMissing: boolean;
  readonly isStagedLoaded: boolean;
  readonly hasStaged: boolean;
  readonly hasMarks: boolean;
  /** How often the environment has come back (R13). */
  readonly returns: number | null;
}

/** Brings `seen_keys` up to date with the recorded and stored pages. Run statements on the table after this. */
export function* loadSeenKeys(scope: MirrorScope, stream: Stream): SqlStatements<WorkTables> {
  yield* loadNoted(scope, stream);
  const own = (table: string): string => `from ${table} w where ${whereStream(stream, 'w')}`;
  const staged = stream.staged && `exists (select 1 from ${nameOf(stream.staged)} w where w.env_id = @env)`;
  const [found = {}] = yield* rows(
    scope,
    `select (select max(w.id) ${own('seen_pages')}) last, (select w.page ${own('seen_through')}) through,
      exists (select 1 ${own('missing_found')}) is_found, exists (select 1 ${own('missing_keys')}) has_missing,
      exists (select 1 ${own('staged_loaded')}) is_loaded, ${staged ?? 'false'} has_staged,
      exists (select 1 ${own('marks')}) has_marks,
      (select returned_count from mirror_environments where env_id = @env) "returns"`,
  );
  const { last, through, returns } = found;
  const tables: WorkTables = {
    hasSeen: (last ?? through ?? null) !== null || scope.noted.pages.some(whereNotedBy(scope, stream)),
    isFound: found['is_found'] === 1,
    hasMissing: found['has_missing'] === 1,
    isStagedLoaded: found['is_loaded'] === 1,
    hasStaged: found['has_staged'] === 1,
    hasMarks: found['has_marks'] === 1,
    returns: (returns ?? null) as number | null,
  };
  if (last == null || last === through) return tables;
  const load = `insert into seen_keys select p.env_id, p.stream, k.value ->> 0, k.value ->> 1, p.read_number
    from seen_pages p, ${scope.dialect.arrays('p.keys')} k
    where ${whereStream(stream, 'p')} and p.id > @through order by 3, 4 on conflict do nothing`;
  yield* execute(scope, load, { through: through ?? 0 });
  const noteLoaded = `insert into seen_through values (@env, '${stream.name}', @last)
    on conflict (env_id, stream) do update set page = excluded.page`;
  yield* execute(scope, noteLoaded, { last });
  return tables;
}

function* loadNoted(scope: MirrorScope, stream: Stream): SqlStatements<void> {
  const sql = `insert into seen_keys select c.env_id, '${stream.name}', value ->> 0, value ->> 1, @readNumber
    from ${fromClock(scope.dialect.arrays('@keys'))} order by 3, 4 on conflict do nothing`;
  const pages = scope.noted.pages.filter(whereNotedBy(scope, stream)).filter((page) => !page.isLoaded);
  for (const [readNumber, ofRead] of Map.groupBy(pages, (page) => page.readNumber)) {
    // One statement for all pages inserts the keys in table order, and SQLite needs no savepoint per page.
    const keys = `[${ofRead.map((page) => page.keys.slice(1, -1)).join(',')}]`;
    yield* execute(scope, sql, { keys, readNumber });
    for (const page of ofRead) page.isLoaded = true;
  }
}

function whereNotedBy({ envId }: MirrorScope, { name }: Stream): (page: NotedPage) => boolean {
  return (page) => page.envId === envId && page.stream === name;
}

/** Keeps only the keys that a round saw by id, from this read on; the following scan counts them as seen (R12). */
export function* persistSeen(scope: MirrorScope, stream: Stream, from: number): SqlStatements<void> {
  const pages = `seen_pages as p where ${whereStream(stream, 'p')}`;
  forgetNoted(scope, stream, (readNumber) => readNumber < from);
  for (const page of scope.noted.pages.filter(whereNotedBy(scope, stream))) page.readNumber = 0;
  yield* execute(scope, `delete from ${pages} and p.read_number < @from`, { from });
  yield* execute(scope, `update seen_pages as p set read_number = 0 where ${whereStream(stream, 'p')}`);
  yield* dropSeenKeys(scope, stream);
}

/** Discards the keys that one read, or the whole round, saw (R7). What is known to be empty is not emptied. */
export function* forgetSeen(
  scope: MirrorScope,
  stream: Stream,
  which: number | 'all',
  { hasSeen, isFound }: Pick<WorkTables, 'hasSeen' | 'isFound'> = { hasSeen: true, isFound: true },
): SqlStatements<void> {
  if (!hasSeen) {
    if (isFound) yield* invalidateMissing(scope, stream);
    return;
  }
  const pages = `seen_pages as p where ${whereStream(stream, 'p')}`;
  const noted = forgetNoted(scope, stream, (readNumber) => which === 'all' || readNumber === which);
  if (which === 'all') {
    yield* execute(scope, `delete from ${pages}`);
    yield* dropSeenKeys(scope, stream);
    return;
  }
  const written = yield* run(scope, `delete from ${pages} and p.read_number = @which`, { which });
  if (noted + written > 0) yield* dropSeenKeys(scope, stream);
  else yield* invalidateMissing(scope, stream);
}

/** @returns the number of discarded pages */
function forgetNoted(scope: MirrorScope, stream: Stream, isMeant: (readNumber: number) => boolean): number {
  const { noted } = scope;
  const isOwn = whereNotedBy(scope, stream);
  const kept = noted.pages.filter((page) => !isOwn(page) || !isMeant(page.readNumber));
  const forgotten = noted.pages.length - kept.length;
  noted.pages = kept;
  return forgotten;
}

/** Empties `missing_keys` because rows were written or seen keys were discarded; `findMissing` fills it again. */
export function* invalidateMissing(scope: MirrorScope, stream: Stream): SqlStatements<void> {
  for (const table of ['missing_keys', 'missing_found'])
    yield* execute(scope, `delete from ${table} as m where ${whereStream(stream, 'm')}`);
}

/** Also empties `seen_keys`: SQLite reuses the ids of deleted pages, so all pages must be loaded again. */
function* dropSeenKeys(scope: MirrorScope, stream: Stream): SqlStatements<void> {
  yield* invalidateMissing(scope, stream);
  for (const table of ['seen_keys', 'seen_through'])
    yield* execute(scope, `delete from ${table} as s where ${whereStream(stream, 's')}`);
  for (const page of scope.noted.pages.filter(whereNotedBy(scope, stream))) page.isLoaded = false;
}

/**
 * Fills `missing_keys`, in one pass over each table, with the live rows that the round has not seen and with child rows
 * without a row. Run statements on the table after this. Keys seen later stay in it; rows written later empty it.
 */
export function* findMissing(scope: MirrorScope, stream: Stream): SqlStatements<WorkTables> {
  const tables = yield* loadSeenKeys(scope, stream);
  if (tables.isFound) return tables;
  yield* execute(scope, `insert into missing_found values (@env, '${stream.name}') on conflict do nothing`);
  // The order of the keys lets SQLite read both tables once, end to end. Most rows were seen, so that is tested first.
  const keys = list(stream.key, 't.');
  const rest = (from: string, whereMeant: string): string => `insert into missing_keys
    select t.env_id, '${stream.name}', ${keys}${stream.key.length === 1 ? ", ''" : ''} from ${from} t
    where t.env_id = @env and case when ${whereSeenKey(stream)} then false else ${whereMeant} end
    order by ${keys} on conflict do nothing`;
  let missing = yield* run(scope, rest(tableOf(stream), whereLive(stream)));
  for (const { table } of stream.childTables ?? []) missing += yield* run(scope, rest(nameOf(table), 'true'));
  return { ...tables, isFound: true, hasMissing: missing > 0 };
}

/** The condition that row `t` is missing. Call `findMissing` first. */
export function whereMissing(stream: Stream): string {
  const keys = stream.key.map((_, i) => `m.key_${i + 1}`).join(', ');
  const own = stream.key.map((name) => `t.${quote(name)}`).join(', ');
  return `(${own}) in (select ${keys} from missing_keys m where ${whereStream(stream, 'm')}) and not ${whereSeenKey(stream)}`;
}
