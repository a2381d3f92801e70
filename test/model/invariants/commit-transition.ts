import { addSeconds } from '../../../src/core/time/instant.ts';
import { CATALOGUE, type CollectionName } from '../../../src/streams/catalogue.ts';
import type { CatalogueEntry } from '../../../src/streams/entry.ts';
import { FEED_STREAMS } from '../../support/catalogue.ts';
import { derivedFrom } from '../cached-reads.ts';
import { canonicalJson, instantText } from '../expected-rows.ts';
import { isFeed, itemsOf, type ServedPage, type ServedRead } from '../request-log.ts';
import type { ObservedCommit, Row, TestMirror } from '../test-mirror.ts';
import { HOUR } from '../world.ts';

/** What the file contains of a stream. */
export interface StreamState {
  readonly watermark: string | null;
  /** The unfinished round as stored. */
  readonly round: StoredRound | null;
  /** The scan that waits while the feeds continue (R9). */
  readonly waiting: StoredRound | null;
  /** The rows of its table by key, without `mirrored_at`. */
  readonly rows: ReadonlyMap<string, Row>;
  /** The edges of the columns, which are deleted with them; only for the columns stream. */
  readonly edges: ReadonlyMap<string, Row>;
  /** The numbers of all marks of the environment, by stream and id. */
  readonly marks: ReadonlyMap<string, number>;
  readonly lastMark: number;
  /** The keys of removals that are held back. */
  readonly heldBack: ReadonlySet<string>;
  /** The streams for which marks are made, because their first scan has begun. */
  readonly markedStreams: ReadonlySet<string>;
}

interface StoredRound {
  readonly mode: string;
  /** The run in which it began. */
  readonly run: number;
  readonly reason: string;
  /** An empty mirror needs no sweep. */
  readonly sweeps: boolean;
  readonly firstPageAt: string | null;
  readonly incomplete: boolean;
  readonly read: {
    readonly path: string[];
    readonly query: ServedRead['query'];
    readonly cursor: string | null;
    readonly at: string | null;
  } | null;
}

/** One commit: the state before and after it, and what was served for it. */
export interface CommitTransition extends ObservedCommit {
  readonly before: StreamState;
  readonly after: StreamState;
  /** The read whose page is committed; null if there is none. */
  readonly read: ServedRead | null;
  readonly page: ServedPage | null;
  /** All reads of the round, including this page. */
  readonly reads: readonly ServedRead[];
  readonly rows: TestMirror['rows'];
  readonly seen: TestMirror['seen'];
}

/** Returns a description of each violation. */
export type Invariant = (transition: CommitTransition) => readonly string[];

/** The streams whose deleted rows stay in the table. */
export const SOFT_DELETING: readonly CollectionName[] = FEED_STREAMS;

/** The queries of the lists that make up one full scan. */
export function scanQueriesOf(stream: CollectionName): CatalogueEntry['scanQueries'] {
  return entryOf(stream).scanQueries;
}

export function variantsOf(stream: CollectionName): number {
  return scanQueriesOf(stream).length;
}

/** The mirror's times up to this one lose against a scan or a lookup by id (R10); null for a feed. */
export function floorOf(
  read: ServedRead,
  transition: Pick<CommitTransition, 'overlapSeconds' | 'serverTime'>,
): string | null {
  return isFeed(read) ? null : (settledBefore(read, transition) ?? '9999');
}

/** T of the run that began the read, minus the overlap. A later response may have corrected T downwards (R1). */
function settledBefore(
  { at }: ServedRead,
  { overlapSeconds, serverTime }: Pick<CommitTransition, 'overlapSeconds' | 'serverTime'>,
): string | null {
  if (at === null) return null;
  return addSeconds(serverTime !== null && serverTime < at ? serverTime : at, -overlapSeconds);
}

/**
 * Whether the row is younger than the overlap, so its dependents may be committed after the read (R18, R22). A time
 * that counts as missing says nothing; without a server time, none does (R10).
 */
export function mayLag(transition: CommitTransition, read: ServedRead, row: Row | undefined): boolean {
  const settled = settledBefore(read, transition);
  const at = timeOf(row ?? {}, 'synced_at');
  if (at === '' || isUntrusted(at, transition)) return false;
  return settled === null || at > settled;
}

/**
 * Whether a time is an hour ahead of the newest server time, and so counts as missing, even if that server time is
 * wrong (R10).
 */
export function isUntrusted(time: string, { latest }: Pick<CommitTransition, 'latest'>): boolean {
  return latest !== null && time > addSeconds(latest, HOUR);
}

/**
 * Whether a typed list returned an older version than the mirror has because the list may lag; one without a trusted
 * time is the oldest (R10).
 */
export function isLaggingVersion(
  transition: CommitTransition,
  read: ServedRead,
  item: Readonly<Record<string, unknown>>,
): boolean {
  const id = String(item['id']);
  const row = transition.after.rows.get(id);
  const sent = instantText(String(item['synced_at']));
  const shownAt = isUntrusted(sent, transition) ? '' : sent;
  return shownAt < timeOf(row ?? {}, 'synced_at') && mayLag(transition, read, row);
}

export function isLive(row: Row | undefined): row is Row {
  return row !== undefined && (row['deleted_at'] ?? null) === null;
}

export function returnsRow(read: ServedRead, id: string): boolean {
  return itemsOf(read).some((item) => item['id'] === id);
}

/** A time as comparable text; a missing one is the oldest. */
export function timeOf(row: Row, name: string): string {
  return String(row[name] ?? '');
}

export function includesRow(a: Row, b: Row): boolean {
  if (a === b) return true;
  return Object.keys(b).every((name) => a[name] === b[name] || canonicalJson(a[name]) === canonicalJson(b[name]));
}

const ENTRIES = new Map(CATALOGUE.map((entry) => [entry.name, entry]));

function entryOf(stream: CollectionName): CatalogueEntry {
  const entry = ENTRIES.get(stream);
  if (entry === undefined) throw new Error(`no stream ${stream}`);
  return entry;
}

export function keyOf(stream: CollectionName, row: Row | Record<string, unknown>): string {
  const { key } = entryOf(stream);
  return key.length === 1 ? String(row[key[0]] ?? '') : key.map((name) => row[name]).join(' < ');
}

const tableOf = (stream: CollectionName): string => entryOf(stream).table;

/** The stored round of a stream, and its waiting scan. */
export function roundsOf(
  { rows }: TestMirror,
  envId: string,
  stream: CollectionName,
): Pick<StreamState, 'round' | 'waiting'> {
  const sql = 'select round, waiting_scan from sync_checkpoints where env_id = ? and stream = ?';
  return roundsIn(rows(sql, envId, stream)[0]);
}

function roundsIn(stored: Row | undefined): Pick<StreamState, 'round' | 'waiting'> {
  const round = JSON.parse(String(stored?.['round'] ?? null)) as StoredRound | null;
  const waitingScan = JSON.parse(String(stored?.['waiting_scan'] ?? null)) as {
    readonly round: StoredRound | null;
  } | null;
  return { round, waiting: waitingScan?.round ?? null };
}

/** What did not change since it was loaded last is the same object. */
export function loadStreamState({ rows }: TestMirror, envId: string, stream: CollectionName): StreamState {
  const table = (name: string, of: CollectionName): ReadonlyMap<string, Row> =>
    derivedFrom(rows(`select * from ${name} where env_id = ?`, envId), (found) => rowsByKey(of, found));
  const checkpoints = rows('select * from sync_checkpoints where env_id = ?', envId);
  const own = checkpoints.find((each) => each['stream'] === stream);
  const held = rows('select key_1, key_2 from held_removals where env_id = ? and stream = ?', envId, stream);
  return {
    watermark: (own?.['watermark'] ?? null) as string | null,
    ...roundsIn(own),
    rows: stream === 'test_executions' ? new Map() : table(tableOf(stream), stream),
    edges: stream === 'columns' ? table('column_lineage', 'column_lineage') : new Map(),
    marks: derivedFrom(rows('select stream, id, number from marks where env_id = ?', envId), marksIn),
    lastMark: Number(rows('select last_mark from mirror_environments where env_id = ?', envId)[0]?.['last_mark'] ?? 0),
    heldBack: derivedFrom(held, heldKeysIn),
    markedStreams: derivedFrom(checkpoints, markedStreamsIn),
  };
}

function rowsByKey(stream: CollectionName, found: readonly Row[]): Map<string, Row> {
  return new Map(found.map(({ env_id: _, mirrored_at: __, ...row }) => [keyOf(stream, row as Row), row as Row]));
}

function marksIn(found: readonly Row[]): Map<string, number> {
  return new Map(found.map((mark) => [`${mark['stream']} ${mark['id']}`, Number(mark['number'])]));
}

function heldKeysIn(found: readonly Row[]): Set<string> {
  return new Set(
    found.map(({ key_1: first, key_2: second }) => (second === '' ? String(first) : `${first} < ${second}`)),
  );
}

function markedStreamsIn(checkpoints: readonly Row[]): Set<string> {
  const marked = checkpoints.filter((each) => each['round'] !== null || each['scan_ended_cycle'] !== null);
  return new Set(marked.map((each) => String(each['stream'])));
}
